import type { ReactNode } from 'react';
import type { Confirmation } from 'space-service';
import { DialogButton } from '../ui/dialog.tsx';
import { Field, Form, textOf } from '../ui/form.tsx';
import { showNotice } from '../ui/notice.tsx';

interface ReportButtonProps<Variables> {
  label: ReactNode;
  name?: string;
  className?: string;
  mutation: {
    isPending: boolean;
    error: unknown;
    mutate(variables: Variables, options: { onSuccess: (data: Confirmation) => void }): void;
  };
  variables: (reason: string) => Variables;
}

/** A button that reports a space or a message to the operator of the server. */
export function ReportButton<Variables>(props: ReportButtonProps<Variables>) {
  const { label, name, className, mutation, variables } = props;
  return (
    <DialogButton label={label} name={name} className={className} title="Report to the operator">
      {(close) => (
        <Form
          mutation={{
            ...mutation,
            mutate: (values: Variables) =>
              mutation.mutate(values, {
                onSuccess: ({ message }) => {
                  close();
                  showNotice(message);
                },
              }),
          }}
          submit="Report"
          variables={(fields) => variables(textOf(fields, 'reason'))}
          cancel={
            <button type="button" className="secondary" onClick={close}>
              Cancel
            </button>
          }
        >
          <Field
            label="Reason"
            name="reason"
            rows={3}
            hint="What is wrong with it?"
            limit={{ max: 1000 }}
          />
        </Form>
      )}
    </DialogButton>
  );
}
