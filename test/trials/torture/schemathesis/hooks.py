"""Provides credentials to Schemathesis and limits the size of request heads. The contract contains neither."""

import os
import secrets

import requests
import schemathesis

URL = os.environ["SERVER_URL"]
SESSION_ENDING_OPERATIONS = os.environ["SESSION_ENDING_OPERATIONS"].split()

# Maximum size of request line and headers, minus some bytes for headers that are added later. The server rejects longer
# ones with 431 before it determines the operation, so most operations do not declare this status.
MAX_HEAD_BYTES = 16_384 - 512


class Account:
    """Registers on first use, and again after its session has ended."""

    def __init__(self):
        self.forget()

    def forget(self):
        self.access_token = None
        self.password = secrets.token_urlsafe(12)

    def token(self):
        if self.access_token is None:
            name = f"schemathesis-{secrets.token_hex(8)}"
            body = {"username": name, "email": f"{name}@example.org", "password": self.password}
            response = requests.post(f"{URL}/api/auth/register", json=body, timeout=30)
            response.raise_for_status()
            self.access_token = response.json()["access_token"]
        return self.access_token


lasting, leaving = Account(), Account()


def account_for(operation):
    """Returns a separate account for operations that end the session."""
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
    """Replaces half of the valid passwords with the correct one."""
    current = body.get("currentPassword") if isinstance(body, dict) else None
    if isinstance(current, str) and 0 < len(current) <= 256 and len(current) % 2 == 0:
        body["currentPassword"] = lasting.password
    return body


@schemathesis.hook
def filter_case(context, case):
    request_body = case.operation.definition.raw.get("requestBody", {"required": True})
    # The server takes `null` as no body where the body is optional.
    if case.body is None and not request_body.get("required", False):
        return False
    sent = requests.Request(**case.as_transport_kwargs(base_url=URL)).prepare()
    fields = sum(len(name) + len(value) + 4 for name, value in sent.headers.items())
    return len(sent.url or "") + fields < MAX_HEAD_BYTES
