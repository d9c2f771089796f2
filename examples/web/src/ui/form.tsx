import {
  createContext,
  type ReactNode,
  useContext,
  useEffect,
  useId,
  useRef,
  useState,
} from 'react';
import { fieldErrorsOf } from '../errors.ts';
import { Counter, charactersLeft, type Limit } from './counter.tsx';
import { FormFailure } from './explanation.tsx';

type InputEvent = React.InputEvent<HTMLInputElement | HTMLTextAreaElement>;

const FieldErrors = createContext<Record<string, string>>({});

export interface FormProps<Variables> {
  /** What `useMutation` returns. Its error is shown next to the fields that it is about. */
  mutation: {
    isPending: boolean;
    error: unknown;
    mutate(variables: Variables, options: { onSuccess: () => void }): void;
    reset(): void;
  };
  /** Returns what the mutation needs. */
  variables: (fields: FormData) => Variables;
  submit: string;
  /** Further buttons. */
  buttons?: ReactNode;
  /** Closes the dialog that the form is in: when it has been sent, and with the button `cancel`. */
  onClose?: () => void;
  /** This button is before the others. A dialog without fields begins at it. */
  cancel?: string;
  /** How the button that submits looks, if sending the form is not what the view is for. */
  appearance?: 'secondary' | 'danger';
  /** False while the fields cannot be sent. */
  canSubmit?: boolean | undefined;
  /** Whether the fields become empty when the form has been sent. */
  resets?: boolean;
  children?: ReactNode;
}

/** A form that sends a mutation. It has `noValidate`: the service checks every field, so its rules are not repeated. */
export function Form<Variables>(props: FormProps<Variables>) {
  const { mutation, variables, submit, buttons, onClose, cancel, appearance, resets } = props;
  const { canSubmit = true, children } = props;
  const form = useRef<HTMLFormElement>(null);
  const errors = fieldErrorsOf(mutation.error);
  // A dialog that is opened again does not show the error of the last time.
  const { reset } = mutation;
  useEffect(() => reset, [reset]);
  const hasField = (name: string) => form.current?.elements.namedItem(name);
  const isAboutFields = Object.keys(errors).some(hasField);
  // Screen readers read the error after the field, because `aria-describedby` refers to it.
  useEffect(() => {
    if (mutation.error) form.current?.querySelector<HTMLElement>('[aria-invalid]')?.focus();
  }, [mutation.error]);
  return (
    <form
      ref={form}
      noValidate
      aria-busy={mutation.isPending}
      onSubmit={(event) => {
        event.preventDefault();
        if (mutation.isPending) return;
        const unreadable = Array.from(event.currentTarget.elements).find(isUnreadable);
        if (unreadable) {
          unreadable.reportValidity();
          return;
        }
        const onSuccess = () => {
          if (resets) form.current?.reset();
          onClose?.();
        };
        mutation.mutate(variables(new FormData(event.currentTarget)), { onSuccess });
      }}
    >
      <FieldErrors value={errors}>{children}</FieldErrors>
      <FormFailure error={isAboutFields ? null : mutation.error} />
      <div className="buttons">
        {cancel && (
          <button type="button" className="secondary" onClick={onClose}>
            {cancel}
          </button>
        )}
        <button type="submit" className={appearance} disabled={!canSubmit}>
          {submit}
        </button>
        {buttons}
      </div>
    </form>
  );
}

/** Whether the browser takes what a person has typed for no value, such as February 30. */
function isUnreadable(element: Element): element is HTMLInputElement {
  if (!(element instanceof HTMLInputElement)) return false;
  return element.validity.badInput || element.validity.rangeOverflow;
}

interface FieldProps extends Omit<React.ComponentProps<'input'>, 'id'> {
  label: string;
  /** The name of the field in the body of the request. */
  name: string;
  hint?: string;
  /** The number of lines of a text; by default, it has one line. */
  rows?: number;
  limit?: Limit;
  /** Called with each change of the text. */
  onText?: (text: string) => void;
  /** What is wrong with the value before it is sent. */
  problem?: string | undefined;
}

export function Field({ label, hint, rows, limit, onText, problem, ...input }: FieldProps) {
  const id = useId();
  const [text, setText] = useState(String(input.defaultValue ?? ''));
  const errors = useContext(FieldErrors);
  const message = problem ?? errors[input.name];
  const common = {
    id,
    'aria-invalid': message ? true : undefined,
    'aria-describedby': `${id}-hint ${id}-counter ${id}-error`,
    onInput: ({ currentTarget: { value } }: InputEvent) => {
      setText(value);
      onText?.(value);
    },
  } as const;
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {rows ? (
        <textarea
          {...common}
          name={input.name}
          defaultValue={input.defaultValue}
          rows={rows}
          dir="auto"
        />
      ) : (
        <input {...common} {...input} />
      )}
      <p id={`${id}-hint`} className="hint">
        {hint}
      </p>
      {limit && <Counter id={`${id}-counter`} left={charactersLeft(text, limit)} max={limit.max} />}
      <p id={`${id}-error`} className="field-error">
        {message && (message.endsWith('.') ? message : `${label} ${message}.`)}
      </p>
    </div>
  );
}

/** Returns the texts of fields, by their names. */
export function textsOf<Name extends string>(fields: FormData, ...names: Name[]) {
  const texts = names.map((name) => [name, String(fields.get(name) ?? '')]);
  return Object.fromEntries(texts) as Record<Name, string>;
}
