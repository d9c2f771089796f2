import type { Profile } from 'space-service';
import { profileApi } from './api.ts';
import { find } from './dom.ts';
import { showFailure } from './errors.ts';
import { clearMessages, onSubmit, textOf } from './forms.ts';
import { openView, type View } from './navigation.ts';
import { endSession } from './session.ts';

const view = find('#profile');
const content = find('#profile-content');
const usernameForm = find<HTMLFormElement>('#username-form');
const bioForm = find<HTMLFormElement>('#bio-form');
const avatarForm = find<HTMLFormElement>('#avatar-form');
const avatarInput = find<HTMLInputElement>('#avatar');
const preview = find<HTMLImageElement>('#avatar-preview');
const avatar = find<HTMLImageElement>('#profile-avatar');
const passwordForm = find<HTMLFormElement>('#password-form');
const deletionDialog = find<HTMLDialogElement>('#deletion-dialog');
const dateFormat = new Intl.DateTimeFormat('en', { dateStyle: 'long' });

export const profileView: View = {
  async show(_parameters, signal) {
    content.hidden = true;
    preview.hidden = true;
    for (const form of view.querySelectorAll<HTMLFormElement>('form[novalidate]')) {
      form.reset();
      clearMessages(form);
    }
    signal.addEventListener('abort', () => deletionDialog.close());
    try {
      const profile = await profileApi.getProfile();
      if (!signal.aborted) showProfile(profile);
    } catch (error) {
      if (!signal.aborted) showFailure(error);
    }
  },
};

onSubmit(usernameForm, async (fields) => {
  const username = textOf(fields, 'username');
  const { message } = await profileApi.changeUsername(username);
  find('#profile-username').textContent = username;
  return message;
});

onSubmit(bioForm, async (fields) => {
  const { message } = await profileApi.changeBio(textOf(fields, 'bio'));
  return message;
});

avatarInput.addEventListener('change', () => {
  clearMessages(avatarForm);
  const [file] = avatarInput.files ?? [];
  preview.hidden = file === undefined;
  // Releases the previous file. If its preview is still loading, neither of the events below occurs for it.
  URL.revokeObjectURL(preview.src);
  if (file) preview.src = URL.createObjectURL(file);
});
// The file is not an image. The service explains this when it is sent.
preview.addEventListener('error', () => {
  preview.hidden = true;
});
for (const event of ['load', 'error']) {
  // Releases the file.
  preview.addEventListener(event, () => URL.revokeObjectURL(preview.src));
}

onSubmit(avatarForm, async (fields) => {
  const isRemoval = fields.get('action') === 'remove';
  const { profile_picture } = isRemoval
    ? await profileApi.removeProfilePicture()
    : await profileApi.changeProfilePicture(fields.get('avatar') as File);
  avatarForm.reset();
  preview.hidden = true;
  avatar.src = profile_picture;
  return isRemoval ? 'Your avatar has been removed.' : 'Your avatar has been changed.';
});

onSubmit(passwordForm, async (fields) => {
  const currentPassword = textOf(fields, 'currentPassword');
  const newPassword = textOf(fields, 'newPassword');
  const { message } = await profileApi.changePassword(currentPassword, newPassword);
  passwordForm.reset();
  return message;
});

onSubmit(find('#deletion-form'), async () => {
  const confirmation = await profileApi.deleteAccount({ confirm: confirmDeletion });
  if (!confirmation) return;
  endSession();
  openView('#/', confirmation.message);
});

/** Resolves when the dialog is closed: to true only by its button “Delete”, not by Escape. */
function confirmDeletion(): Promise<boolean> {
  // The dialog keeps this value from its previous use.
  deletionDialog.returnValue = '';
  deletionDialog.showModal();
  return new Promise((resolve) => {
    const onClose = () => resolve(deletionDialog.returnValue === 'delete');
    deletionDialog.addEventListener('close', onClose, { once: true });
  });
}

function showProfile(profile: Profile): void {
  find('#profile-username').textContent = profile.username;
  find('#profile-email').textContent = profile.email;
  // The default value stays when the form is reset.
  find<HTMLInputElement>('#password-account').defaultValue = profile.email;
  find('#profile-verified').hidden = !profile.is_verified;
  find('#profile-since').textContent = dateFormat.format(new Date(profile.created_at));
  // Reads only the statistics that the page has, because later versions of the service can add others.
  for (const element of view.querySelectorAll<HTMLElement>('[data-statistic]')) {
    const name = element.dataset.statistic as keyof Profile['stats'];
    element.textContent = profile.stats[name].toLocaleString('en');
  }
  find<HTMLInputElement>('#username').value = profile.username;
  find<HTMLTextAreaElement>('#bio').value = profile.bio;
  avatar.src = profile.profile_picture;
  content.hidden = false;
}
