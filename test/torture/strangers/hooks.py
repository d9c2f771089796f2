"""What Schemathesis cannot read off the contract: who is calling, and how much a request can hold."""

import os
import secrets

import requests
import schemathesis

URL = os.environ["SERVER_URL"]
SESSION_ENDING_OPERATIONS = os.environ["SESSION_ENDING_OPERATIONS"].split()

# The most that the request line and the headers may have, less some for what is added on the way. Beyond it there is
# no request of any operation, so the contract declares the 431 in its table of codes, not operation by operation.
MOST_HEAD = 16_384 - 512


class Account:
    """Signed up when it is first needed, and again once its session is over."""

    def __init__(self):
        self.forget()

    def forget(self):
        self.access_token = None
        self.password = secrets.token_urlsafe(12)

    def token(self):
        if self.access_token is None:
            name = f"stranger-{secrets.token_hex(8)}"
            body = {"username": name, "email": f"{name}@example.org", "password": self.password}
            answer = requests.post(f"{URL}/api/auth/register", json=body, timeout=30)
            answer.raise_for_status()
            self.access_token = answer.json()["access_token"]
        return self.access_token


lasting, leaving = Account(), Account()


def account_for(operation):
    """Sessions are ended with an account of their own: the others go on with theirs."""
    operation_id = operation.definition.raw["operationId"]
    return leaving if operation_id in SESSION_ENDING_OPERATIONS else lasting


if os.environ.get("SIGNED_IN"):

    @schemathesis.auth(refresh_interval=None, retry_on=[])
    class Session:
        def get(self, case, context):
            return account_for(context.operation).token()

        def set(self, case, token, context):
            case.headers["Authorization"] = f"Bearer {token}"


@schemathesis.hook
def after_call(context, case, response):
    if response.status_code != 200:
        return
    account = account_for(case.operation)
    if account is leaving:
        leaving.forget()
    elif case.operation.definition.raw["operationId"] == "changePassword":
        lasting.password = case.body["newPassword"]


@schemathesis.hook.apply_to(operation_id="changePassword")
def map_body(context, body):
    """Half of the passwords that could be right are."""
    current = body.get("currentPassword") if isinstance(body, dict) else None
    if isinstance(current, str) and 0 < len(current) <= 256 and len(current) % 2 == 0:
        body["currentPassword"] = lasting.password
    return body


@schemathesis.hook
def filter_case(context, case):
    sent = requests.Request(**case.as_transport_kwargs(base_url=URL)).prepare()
    fields = sum(len(name) + len(value) + 4 for name, value in sent.headers.items())
    return len(sent.url or "") + fields < MOST_HEAD
