import { useInfiniteQuery, useMutation } from '@tanstack/react-query';
import type { Scope, TokenCreation, TokenSummary } from 'space-service';
import {
  createTokenMutation,
  listTokensInfiniteOptions,
  revokeTokenMutation,
} from 'space-service/tanstack-react-query';
import { fieldErrorsOf } from '../errors.ts';
import { Confirmation } from '../ui/confirmation.tsx';
import { Field, Form, textsOf } from '../ui/form.tsx';
import { showConfirmation, showNotice } from '../ui/notice.tsx';
import { Pages } from '../ui/pages.tsx';
import { Panel } from '../ui/panel.tsx';
import { Skeletons } from '../ui/skeleton.tsx';
import { formatDate } from '../words.ts';

const SCOPES: Record<Scope, string> = {
  read: 'Read everything that you can see',
  write: 'Create and join spaces, and write messages',
  moderate:
    'Change, publish and delete your spaces, choose who is in them and, if it can write, delete messages of others',
  profile: 'Change your username, bio and avatar',
};

const DAY_MS = 86_400_000;

/** Access tokens with which programs act for the account, instead of its password. */
export function Tokens() {
  const tokens = useInfiniteQuery(listTokensInfiniteOptions());
  const creation = useMutation(createTokenMutation());
  return (
    <Panel title="Access for programs">
      <Pages
        query={tokens}
        noun="access token"
        className="lines"
        skeleton={<Skeletons count={1} height="2rem" />}
        empty={
          <p className="hint">
            A bot or a nightly job needs an access token instead of your password.
          </p>
        }
      >
        {(token) => <TokenLine key={token.token_id} token={token} />}
      </Pages>
      {creation.data && <NewToken token={creation.data.access_token} />}
      <Form
        mutation={creation}
        submit="Create access token"
        appearance="secondary"
        resets
        variables={(fields) => ({ body: creationOf(fields) })}
      >
        <Field
          label="Name"
          name="name"
          dir="auto"
          autoComplete="off"
          hint="What the program is, such as “Moderation bot”."
        />
        <fieldset>
          <legend>What may it do?</legend>
          {Object.entries(SCOPES).map(([scope, meaning]) => (
            <label key={scope}>
              <input
                type="checkbox"
                name="scopes"
                value={scope}
                defaultChecked={scope === 'read'}
              />
              {meaning}
            </label>
          ))}
          {fieldErrorsOf(creation.error).scopes && (
            <p className="field-error">Choose at least one.</p>
          )}
        </fieldset>
        <Field
          label="Last day"
          name="expires_at"
          type="date"
          min={dayOf(Date.now() + DAY_MS)}
          max="9999-12-31"
          hint="Optional. Without it, the token works until you revoke it."
        />
      </Form>
    </Panel>
  );
}

function TokenLine({ token }: { token: TokenSummary }) {
  const { token_id, name, scopes, created_at, last_used_at, expires_at } = token;
  const revocation = useMutation({ ...revokeTokenMutation(), onSuccess: showConfirmation });
  return (
    <li>
      <div>
        <p dir="auto">{name}</p>
        <p className="hint">
          {scopes.join(', ')}. Created {formatDate(created_at)}.{' '}
          {last_used_at ? `Last used ${formatDate(last_used_at)}.` : 'Never used.'}
          {expires_at && ` Works until ${formatDate(expires_at)}.`}
        </p>
      </div>
      <Confirmation
        label="Revoke"
        className="secondary small"
        title={`Revoke the access token of ${name}?`}
        consequences="The program can no longer act for you."
        confirm="Revoke access token"
        cancel="Keep it"
        mutation={revocation}
        variables={{ path: { token_id } }}
      />
    </li>
  );
}

function NewToken({ token }: { token: string }) {
  // Browsers allow it only on secure origins. The token can also be copied from the field.
  const copy = () =>
    navigator.clipboard.writeText(token).then(
      () => showNotice('The access token has been copied.'),
      () => showNotice('Copy the access token from the field.'),
    );
  return (
    <div role="status">
      <p>Store the new access token now. It is not shown again.</p>
      <input
        aria-label="New access token"
        readOnly
        value={token}
        onFocus={(event) => event.target.select()}
      />
      {navigator.clipboard && (
        <p className="buttons">
          <button type="button" className="small" onClick={copy}>
            Copy access token
          </button>
        </p>
      )}
    </div>
  );
}

function creationOf(fields: FormData): TokenCreation {
  const { name, expires_at: day } = textsOf(fields, 'name', 'expires_at');
  return {
    name,
    scopes: fields.getAll('scopes') as Scope[],
    expires_at: day ? new Date(`${day}T23:59:59`).toISOString() : null,
  };
}

/** Returns a day in the form of `<input type="date">`. */
function dayOf(time: number): string {
  return new Date(time).toISOString().slice(0, 10);
}
