import { useMutation } from '@tanstack/react-query';
import { downloadAccountData } from 'space-service';
import { Form } from '../ui/form.tsx';
import { Panel } from '../ui/panel.tsx';

/** Saves everything that the service stores about the account as a file. */
export function DataDownload() {
  const download = useMutation({
    mutationFn: async () => {
      const { data } = await downloadAccountData({ throwOnError: true, parseAs: 'blob' });
      saveFile(data as unknown as Blob, 'account-data.json');
    },
  });
  return (
    <Panel title="Your data">
      <Form mutation={download} submit="Download all data" variables={() => undefined}>
        <p>
          A JSON file with your profile, spaces, messages, appreciations, reports, sessions and
          access tokens of programs.
        </p>
      </Form>
    </Panel>
  );
}

function saveFile(content: Blob, name: string): void {
  const url = URL.createObjectURL(content);
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  // Not at once, because some browsers read the file later.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
