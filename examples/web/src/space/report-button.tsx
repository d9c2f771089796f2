import { DialogButton, type DialogButtonProps } from '../ui/dialog.tsx';
import { Field, Form, type FormProps, textsOf } from '../ui/form.tsx';

interface ReportButtonProps<Variables, Target>
  extends Omit<DialogButtonProps, 'children' | 'title'> {
  mutation: FormProps<Variables>['mutation'];
  variables: (body: { reason: string }) => Variables;
  /** Who sees the report besides the operator. */
  readers?: string;
  withdrawal: FormProps<Target>['mutation'];
  target: Target;
}

/** A button that reports something to the operator of the server, or withdraws the report. */
export function ReportButton<Variables, Target>(props: ReportButtonProps<Variables, Target>) {
  const { mutation, variables, readers, withdrawal, target, ...button } = props;
  return (
    <DialogButton {...button} title="Report to the operator">
      {(close) => (
        <Form
          mutation={mutation}
          submit="Report"
          variables={(fields) => variables(textsOf(fields, 'reason'))}
          onClose={close}
          cancel="Cancel"
          buttons={
            <button
              type="button"
              className="secondary"
              onClick={() => withdrawal.mutate(target, { onSuccess: close })}
            >
              Withdraw report
            </button>
          }
        >
          {readers && <p className="hint">{readers}</p>}
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
