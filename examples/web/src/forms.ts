import { ApiError } from 'space-service';
import { find } from './dom.ts';
import { explain, isSignInRequired } from './errors.ts';
import { accessToken, askToSignIn } from './session.ts';

/**
 * Runs an action when a form is submitted, and shows the message that it returns. If a request fails, shows why, next
 * to the fields that the error is about.
 *
 * The forms have `novalidate`: the service checks every field, so its rules are not repeated here. The action gets the
 * fields, among them the name and the value of the pressed button.
 */
export function onSubmit(
  form: HTMLFormElement,
  action: (fields: FormData) => Promise<string | undefined>,
): void {
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    if (form.ariaBusy === 'true') return;
    form.ariaBusy = 'true';
    clearMessages(form);
    // Also those of the other forms, because they are about earlier changes.
    for (const message of document.querySelectorAll('.form-message')) message.textContent = '';
    const token = accessToken();
    try {
      find('.form-message', form).textContent =
        (await action(new FormData(form, event.submitter))) ?? '';
    } catch (error) {
      // The request belongs to an earlier session.
      if (accessToken() !== token) return;
      if (isSignInRequired(error)) askToSignIn();
      else showError(form, error);
    } finally {
      form.ariaBusy = 'false';
    }
  });
}

/** Returns the text of a field. */
export function textOf(fields: FormData, name: string): string {
  return String(fields.get(name) ?? '');
}

/** Removes the messages of an earlier attempt. */
export function clearMessages(form: HTMLFormElement): void {
  for (const message of form.querySelectorAll('.form-message, .form-error, .field-error')) {
    message.textContent = '';
  }
  for (const input of form.querySelectorAll('[aria-invalid]')) input.ariaInvalid = null;
}

function showError(form: HTMLFormElement, error: unknown): void {
  const explanation = explain(error);
  const problem = error instanceof ApiError ? error.problem : null;
  // With this code, the explanation lists all invalid fields. With any other code, it is about one field, and says more
  // than the short message of that field.
  const listsFields = problem?.code === 'invalid_request';
  const invalid: HTMLElement[] = [];
  for (const { pointer, message } of problem?.errors ?? []) {
    // The pointer is a JSON Pointer into the body, such as /username, and the field has the same name.
    const input = form.elements.namedItem(pointer.slice(1));
    if (!(input instanceof HTMLInputElement || input instanceof HTMLTextAreaElement)) continue;
    const label = input.labels?.[0]?.textContent ?? input.name;
    find(`#${input.id}-error`).textContent = listsFields ? `${label} ${message}.` : explanation;
    input.ariaInvalid = 'true';
    invalid.push(input);
  }
  if (invalid.length === 0) find('.form-error', form).textContent = explanation;
  // Screen readers read the error after the field, because `aria-describedby` refers to it.
  invalid[0]?.focus();
}
