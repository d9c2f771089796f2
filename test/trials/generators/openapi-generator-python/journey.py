"""Uses every important operation with the generated client. See ../README.md for the steps."""

import os
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

from openapi_client import (
    ApiClient,
    ApiException,
    AuthApi,
    BioChange,
    Configuration,
    Credentials,
    EmailVerification,
    MessageCreation,
    MessageEdit,
    MessagesApi,
    PasswordChange,
    PasswordReset,
    PasswordResetRequest,
    Problem,
    ProfileApi,
    Registration,
    SearchApi,
    ServerApi,
    Session,
    Space,
    SpaceCreation,
    SpacesApi,
    UsernameChange,
    Visibility,
)

SERVER_URL = os.environ["SERVER_URL"]
RUN = os.environ["RUN"]
AVATAR = Path(os.environ["AVATAR_FILE"]).read_bytes()
PASSWORD = "correct horse battery"
NEW_PASSWORD = "staple of the north wind"
MAX_AVATAR_BYTES = 5_242_880


def expect_problem(status: int, code: str, request: Callable[[], object]) -> Problem:
    try:
        response = request()
    except ApiException as exception:
        problem = exception.data
        assert isinstance(problem, Problem), exception
        found = (exception.status, problem.status, problem.code)
        assert found == (status, status, code), exception
        assert problem.detail != "" and problem.request_id != "", problem
        return problem
    raise AssertionError(f"{response} instead of {code}")


def next_cursor(headers: Mapping[str, str] | None) -> str | None:
    # The client returns the names as the server wrote them, but names of headers are not case-sensitive.
    link = {name.lower(): value for name, value in (headers or {}).items()}.get("link", "")
    match = re.search(r'<[^>]*[?&]cursor=([\w-]+)[^>]*>; rel="next"', link)
    return match[1] if match else None


def client_of(session: Session | None) -> ApiClient:
    token = session.access_token if session else None
    return ApiClient(Configuration(host=SERVER_URL, access_token=token))


def registration(name: str) -> Registration:
    return Registration(
        username=f"{name}-{RUN}", email=f"{name}-{RUN}@example.com", password=PASSWORD
    )


anyone = client_of(None)
auth = AuthApi(anyone)
search = SearchApi(anyone)

# Register two users.
author_session = auth.register(registration("author"))
assert author_session.token_type == os.environ["TOKEN_TYPE"] and author_session.expires_in == 2_592_000
author = client_of(author_session)
reader = client_of(auth.register(registration("reader")))

# Create three spaces.
tag = f"c/c++ #1 50%? {RUN}"
spaces: list[Space] = []
for number in range(1, 4):
    creation = SpaceCreation(
        title=f"Хлеб {RUN} {number}",
        description="Мука, вода, соль",
        visibility=Visibility.PUBLIC,
        tags=[tag, "выпечка"],
    )
    space = SpacesApi(author).create_space(creation)
    assert space.title == creation.title and space.description == creation.description, space
    assert space.visibility == os.environ["VISIBILITY"] and space.invitation_code is None, space
    assert [each.tag_name for each in space.tags] == creation.tags, space
    assert space.tags[0].tag_id >= 1 and space.participant_count == 1, space
    assert space.creator.user_id == author_session.user_id, space
    assert abs(datetime.now(UTC) - space.created_at) < timedelta(hours=1), space
    spaces.append(space)
newest_first = [space.space_id for space in reversed(spaces)]

# Search by text, in two pages.
first = search.search_spaces_with_http_info(f"хлеб {RUN}", as_typed=True, limit=2)
assert len(first.data) == 2 and first.data[0].title == spaces[2].title, first
cursor = next_cursor(first.headers)
assert cursor is not None, first
second = search.search_spaces_with_http_info(f"хлеб {RUN}", as_typed=True, limit=2, cursor=cursor)
assert [each.space_id for each in first.data + second.data] == newest_first, second
assert next_cursor(second.headers) is None, second

# Search by tag.
tagged = search.search_spaces_by_tag(tag)
assert [each.space_id for each in tagged] == newest_first, tagged

# List the author's spaces, in two pages.
first_spaces = SpacesApi(author).list_participations(limit=2)
assert len(first_spaces.items) == 2 and first_spaces.next_cursor is not None, first_spaces
last_spaces = SpacesApi(author).list_participations(limit=2, cursor=first_spaces.next_cursor)
assert last_spaces.next_cursor is None, last_spaces
assert [each.space.space_id for each in last_spaces.items] == newest_first[2:], last_spaces

# Join without a body, and send a message.
space_id = spaces[0].space_id
early = MessageCreation(space_id=space_id, text="Привет")
expect_problem(403, "not_a_participant", lambda: MessagesApi(reader).send_message(early))
participation = SpacesApi(reader).join_space(space_id)
assert participation.space.space_id == space_id, participation
assert participation.space.participant_count == 2, participation
assert abs(datetime.now(UTC) - participation.joined_at) < timedelta(hours=1), participation
text = "Привет, мир! 👋\nДва"
message_creation = MessageCreation(space_id=space_id, text=text)
key = f"idempotency-key-{RUN}"
message = MessagesApi(reader).send_message(message_creation, idempotency_key=key)
repeated = MessagesApi(reader).send_message(message_creation, idempotency_key=key)
assert repeated.message_id == message.message_id, repeated
assert (message.text, message.word_count, message.appreciation_count) == (text, 3, 0), message
assert message.author.username == f"reader-{RUN}", message

# Appreciate the message.
message_id = message.message_id
appreciated = MessagesApi(author).appreciate_message(message_id)
assert appreciated.appreciation_count == 1, appreciated
expect_problem(403, "own_message", lambda: MessagesApi(reader).appreciate_message(message_id))
page = MessagesApi(anyone).list_messages(space_id)
assert [(each.message_id, each.appreciation_count) for each in page.items] == [(message_id, 1)]

# Answer the message, and list the answer.
reply = MessageCreation(space_id=space_id, text="Три", reply_to=message_id)
answer = MessagesApi(reader).send_message(reply)
assert answer.is_reply and answer.reply_to, answer
assert answer.reply_to.message_id == message_id, answer
newer = MessagesApi(anyone).list_messages(space_id, after=page.newer_cursor, wait=25)
assert [each.message_id for each in newer.items] == [answer.message_id], newer

# Edit the answer.
edit = MessageEdit(text="Три и четыре")
edited = MessagesApi(reader).edit_message(answer.message_id, edit)
assert (edited.text, edited.word_count) == ("Три и четыре", 3), edited
assert edited.edited_at, edited
assert abs(datetime.now(UTC) - edited.edited_at) < timedelta(hours=1), edited

# Read a profile with large numbers.
veteran = client_of(auth.login(Credentials(email="veteran@example.com", password=PASSWORD)))
profile = ProfileApi(veteran).get_profile()
assert profile.stats.total_words_contributed == 16_777_217, profile
assert profile.is_verified and profile.email == "veteran@example.com", profile

# End a session.
session = AuthApi(veteran).list_sessions().items[0]
assert session.is_current, session
AuthApi(veteran).end_session(session.session_id)
expect_problem(401, "unauthenticated", ProfileApi(veteran).get_profile)

# Change the username and the bio.
author_profile = ProfileApi(author)
taken = UsernameChange(username=f"reader-{RUN}")
conflict = expect_problem(409, "username_taken", lambda: author_profile.change_username(taken))
assert [each.pointer for each in conflict.errors] == ["/username"], conflict
username = f"author.{RUN}"
renamed = author_profile.change_username(UsernameChange(username=username))
assert username in renamed.message, renamed
bio = "Пеку по воскресеньям.\nСпорю о запятых."
author_profile.change_bio(BioChange(bio=bio))
profile = author_profile.get_profile()
assert (profile.username, profile.bio) == (username, bio), profile
assert profile.stats.spaces_created == 3, profile

# Upload an avatar. The client sends "avatar" as the file name if it gets only bytes.
pictures = {profile.profile_picture}
for file in (("avatar.png", AVATAR), AVATAR):
    picture = author_profile.change_profile_picture(file).profile_picture
    assert author_profile.get_profile().profile_picture == picture
    pictures.add(picture)
assert len(pictures) == 3, pictures
too_large = bytes(MAX_AVATAR_BYTES + 1)
expect_problem(413, "avatar_too_large", lambda: author_profile.change_profile_picture(too_large))

# Change the password.
wrong = PasswordChange(currentPassword="not my password", newPassword=NEW_PASSWORD)
expect_problem(403, "current_password_incorrect", lambda: author_profile.change_password(wrong))
author_profile.change_password(PasswordChange(currentPassword=PASSWORD, newPassword=NEW_PASSWORD))
old_credentials = Credentials(email=f"author-{RUN}@example.com", password=PASSWORD)
expect_problem(401, "credentials_incorrect", lambda: auth.login(old_credentials))

# Read what the server offers, and use an unknown token of a mail.
server = ServerApi(anyone).get_server()
assert server.sends_mail and server.limits.max_avatar_bytes == MAX_AVATAR_BYTES, server
auth.request_password_reset(PasswordResetRequest(email=old_credentials.email))
reset = PasswordReset(token="unknown", newPassword=NEW_PASSWORD)
expect_problem(400, "invalid_token", lambda: auth.reset_password(reset))
verification = EmailVerification(token="unknown")
expect_problem(400, "invalid_token", lambda: auth.verify_email(verification))

# Delete the accounts.
for user in (ProfileApi(author), ProfileApi(reader)):
    user.delete_account()
    expect_problem(401, "unauthenticated", user.get_profile)
left = search.search_spaces_by_tag(tag)
assert left == [], left
