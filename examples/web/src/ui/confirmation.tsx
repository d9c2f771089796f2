import type { ReactNode } from 'react';
import { DialogButton } from './dialog.tsx';
import { Form } from './form.tsx';

interface ConfirmationProps<Variables> {
  label: ReactNode;
  name?: string;
  className?: string;
  question: string;
  consequences: string;
  /** The button that confirms. */
  confirm: string;
  /** The button that does not. It is first and has the focus. */
  cancel: string;
  mutation: {
    isPending: boolean;
    error: unknown;
    mutate(variables: Variables, options: { onSuccess: () => void }): void;
    reset(): void;
  };
  variables: Variables;
}

/** A button that sends a mutation only after a confirmation. */
export function Confirmation<Variables>(props: ConfirmationProps<Variables>) {
  const { label, name, className, question, consequences, confirm, cancel, mutation, variables } =
    props;
  return (
    <DialogButton label={label} name={name} className={className} title={question}>
      {(close) => (
        <Form
          mutation={{
            ...mutation,
            mutate: () => mutation.mutate(variables, { onSuccess: close }),
          }}
          variables={() => undefined}
          submit={confirm}
          appearance="danger"
          cancel={
            <button
              type="button"
              className="secondary"
              onClick={() => {
                mutation.reset();
                close();
              }}
            >
              {cancel}
            </button>
          }
        >
          <p>{consequences}</p>
        </Form>
      )}
    </DialogButton>
  );
}
