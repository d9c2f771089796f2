import { DialogButton, type DialogButtonProps } from '../ui/dialog.tsx';
import { Field, Form, type FormProps, textsOf } from '../ui/form.tsx';

interface ReportButtonProps<Variables> extends Omit<DialogButtonProps, 'children' | 'title'> {
  mutation: FormProps<Variables>['mutation'];
  variables: (body: { reason: string }) => Variables;
}

/** A button that reports a space or a message to the operator of the server. */
export function ReportButton<Variables>(props: ReportButtonProps<Variables>) {
  const { mutation, variables, ...button } = props;
  return (
    <DialogButton {...button} title="Report to the operator">
      {(close) => (
        <Form
          mutation={mutation}
          submit="Report"
          variables={(fields) => variables(textsOf(fields, 'reason'))}
          onClose={close}
          cancel="Cancel"
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
