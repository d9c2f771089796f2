import { type ReactNode, useId, useLayoutEffect, useRef, useState } from 'react';
import { createPortal } from 'react-dom';

interface DialogProps {
  title: string;
  /** Without it, only the content closes the dialog. */
  onClose?: () => void;
  children: ReactNode;
}

/** A modal dialog. While it is shown, the browser keeps the focus in it; Escape closes it. Shown even if its button is not. */
export function Dialog({ title, onClose, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useLayoutEffect(() => {
    const element = dialog.current;
    element?.showModal();
    // Returns the focus to where it was. This needs the dialog to be still in the page.
    return () => element?.close();
  }, []);
  return createPortal(
    <dialog
      ref={dialog}
      aria-labelledby={id}
      closedby={onClose ? undefined : 'none'}
      onCancel={onClose}
    >
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>,
    document.body,
  );
}

export interface DialogButtonProps {
  label: ReactNode;
  className?: string;
  title: string;
  /** The name of the button, if `label` is only an icon. */
  name?: string;
  /** Returns the content of the dialog. */
  children: (close: () => void) => ReactNode;
}

/** A button that opens a dialog. */
export function DialogButton({ label, className, title, name, children }: DialogButtonProps) {
  const [isOpen, setIsOpen] = useState(false);
  const close = () => setIsOpen(false);
  return (
    <>
      <button
        type="button"
        className={className ?? 'secondary'}
        aria-label={name}
        title={name}
        onClick={() => setIsOpen(true)}
      >
        {label}
      </button>
      {isOpen && (
        <Dialog title={title} onClose={close}>
          {children(close)}
        </Dialog>
      )}
    </>
  );
}
