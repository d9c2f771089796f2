import { DialogButton, type DialogButtonProps } from './dialog.tsx';
import { Form, type FormProps } from './form.tsx';

interface ConfirmationProps<Variables> extends Omit<DialogButtonProps, 'children'> {
  consequences: string;
  /** The button that confirms. */
  confirm: string;
  /** The button that does not. It is first and has the focus. */
  cancel: string;
  mutation: FormProps<Variables>['mutation'];
  variables: Variables;
}

/** A button that sends a mutation only after a confirmation. */
export function Confirmation<Variables>(props: ConfirmationProps<Variables>) {
  const { consequences, confirm, cancel, mutation, variables, ...button } = props;
  return (
    <DialogButton {...button}>
      {(close) => (
        <Form
          mutation={mutation}
          variables={() => variables}
          submit={confirm}
          appearance="danger"
          onClose={close}
          cancel={cancel}
        >
          <p>{consequences}</p>
        </Form>
      )}
    </DialogButton>
  );
}
