import { signIn, signOut, signUp } from './api.ts';
import { find } from './dom.ts';
import { clearMessages, onSubmit, textOf } from './forms.ts';
import { openView, type View } from './navigation.ts';

const signInForm = find<HTMLFormElement>('#sign-in-form');
const signUpForm = find<HTMLFormElement>('#sign-up-form');

export const signInView: View = { show: () => clearForm(signInForm) };
export const signUpView: View = { show: () => clearForm(signUpForm) };

onSubmit(signInForm, async (fields) => {
  await signIn(textOf(fields, 'email'), textOf(fields, 'password'));
  openView('#/profile');
});

onSubmit(signUpForm, async (fields) => {
  const username = textOf(fields, 'username');
  await signUp(username, textOf(fields, 'email'), textOf(fields, 'password'));
  openView('#/profile', `Welcome, ${username}.`);
});

find('#sign-out').addEventListener('click', () => {
  signOut();
  openView('#/', 'You are signed out.');
});

function clearForm(form: HTMLFormElement): void {
  form.reset();
  clearMessages(form);
}
