"""Uses every important operation with the generated client. See ../README.md for the steps."""

import os
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from io import BytesIO
from pathlib import Path
from typing import TypeVar

from space_service.api.auth import (
    end_session,
    list_sessions,
    login,
    register,
    request_password_reset,
    reset_password,
    verify_email,
)
from space_service.api.messages import (
    appreciate_message,
    edit_message,
    list_messages,
    send_message,
)
from space_service.api.profile import (
    change_bio,
    change_password,
    change_profile_picture,
    change_username,
    delete_account,
    get_profile,
)
from space_service.api.search import search_spaces, search_spaces_by_tag
from space_service.api.server import get_server
from space_service.api.spaces import create_space, join_space, list_participations
from space_service.client import AuthenticatedClient, Client
from space_service.models import (
    BioChange,
    Confirmation,
    Credentials,
    EmailVerification,
    Message,
    MessageCreation,
    MessageEdit,
    MessagePage,
    Participation,
    ParticipationPage,
    PasswordChange,
    PasswordReset,
    PasswordResetRequest,
    Picture,
    PictureChange,
    Problem,
    Profile,
    Registration,
    SearchResult,
    Server,
    Session,
    SessionPage,
    Space,
    SpaceCreation,
    UsernameChange,
    Visibility,
)
from space_service.types import File, Response

SERVER_URL = os.environ["SERVER_URL"]
RUN = os.environ["RUN"]
AVATAR = Path(os.environ["AVATAR_FILE"]).read_bytes()
PASSWORD = "correct horse battery"
NEW_PASSWORD = "staple of the north wind"
MAX_AVATAR_BYTES = 5_242_880

T = TypeVar("T")


def expect(type_: type[T], response: Response[T | Problem], status: int) -> T:
    assert response.status_code == status, response
    assert isinstance(response.parsed, type_), response
    return response.parsed


def expect_problem(response: Response[T | Problem], status: int, code: str) -> Problem:
    problem = response.parsed
    assert isinstance(problem, Problem), response
    assert (response.status_code, problem.status, problem.code) == (status, status, code), response
    assert problem.detail != "" and problem.request_id != "", problem
    return problem


def expect_results(response: Response[list[SearchResult] | Problem]) -> list[SearchResult]:
    assert response.status_code == 200, response
    assert isinstance(response.parsed, list), response
    return response.parsed


def next_cursor(headers: Mapping[str, str]) -> str | None:
    match = re.search(r'<[^>]*[?&]cursor=([\w-]+)[^>]*>; rel="next"', headers.get("link", ""))
    return match[1] if match else None


def signed_in(session: Session) -> AuthenticatedClient:
    return AuthenticatedClient(base_url=SERVER_URL, token=session.access_token)


def registration(name: str) -> Registration:
    return Registration(
        username=f"{name}-{RUN}", email=f"{name}-{RUN}@example.com", password=PASSWORD
    )


anyone = Client(base_url=SERVER_URL)

# Register two users.
author_session = expect(
    Session, register.sync_detailed(client=anyone, body=registration("author")), 201
)
assert author_session.token_type == os.environ["TOKEN_TYPE"] and author_session.expires_in == 2_592_000
author = signed_in(author_session)
reader_session = expect(
    Session, register.sync_detailed(client=anyone, body=registration("reader")), 201
)
reader = signed_in(reader_session)

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
    space = expect(Space, create_space.sync_detailed(client=author, body=creation), 201)
    assert space.title == creation.title and space.description == creation.description, space
    assert space.visibility == os.environ["VISIBILITY"] and space.invitation_code is None, space
    assert [each.tag_name for each in space.tags] == creation.tags, space
    assert space.tags[0].tag_id >= 1 and space.participant_count == 1, space
    assert space.creator.user_id == author_session.user_id, space
    assert abs(datetime.now(UTC) - space.created_at) < timedelta(hours=1), space
    spaces.append(space)
newest_first = [space.space_id for space in reversed(spaces)]

# Search by text, in two pages.
first = search_spaces.sync_detailed(client=anyone, q=f"хлеб {RUN}", as_typed=True, limit=2)
found = expect_results(first)
assert len(found) == 2 and found[0].title == spaces[2].title, found
cursor = next_cursor(first.headers)
assert cursor is not None, first.headers
second = search_spaces.sync_detailed(
    client=anyone, q=f"хлеб {RUN}", as_typed=True, limit=2, cursor=cursor
)
found += expect_results(second)
assert [each.space_id for each in found] == newest_first, found
assert next_cursor(second.headers) is None, second.headers

# Search by tag.
tagged = expect_results(search_spaces_by_tag.sync_detailed(client=anyone, tag=tag))
assert [each.space_id for each in tagged] == newest_first, tagged

# List the author's spaces, in two pages.
first_spaces = expect(
    ParticipationPage, list_participations.sync_detailed(client=author, limit=2), 200
)
assert len(first_spaces.items) == 2 and first_spaces.next_cursor is not None, first_spaces
last_spaces = expect(
    ParticipationPage,
    list_participations.sync_detailed(client=author, limit=2, cursor=first_spaces.next_cursor),
    200,
)
assert last_spaces.next_cursor is None, last_spaces
assert [each.space.space_id for each in last_spaces.items] == newest_first[2:], last_spaces

# Join without a body, and send a message.
space_id = spaces[0].space_id
early = MessageCreation(space_id=space_id, text="Привет")
expect_problem(send_message.sync_detailed(client=reader, body=early), 403, "not_a_participant")
participation = expect(
    Participation, join_space.sync_detailed(client=reader, space_id=space_id), 200
)
assert participation.space.space_id == space_id, participation
assert participation.space.participant_count == 2, participation
assert abs(datetime.now(UTC) - participation.joined_at) < timedelta(hours=1), participation
text = "Привет, мир! 👋\nДва"
message_creation = MessageCreation(space_id=space_id, text=text)
key = f"idempotency-key-{RUN}"
message, repeated = (
    expect(
        Message,
        send_message.sync_detailed(client=reader, body=message_creation, idempotency_key=key),
        201,
    )
    for _ in range(2)
)
assert repeated.message_id == message.message_id, repeated
assert (message.text, message.word_count, message.appreciation_count) == (text, 3, 0), message
assert message.author.username == f"reader-{RUN}", message

# Appreciate the message.
appreciated = expect(
    Message, appreciate_message.sync_detailed(client=author, message_id=message.message_id), 200
)
assert appreciated.appreciation_count == 1, appreciated
expect_problem(
    appreciate_message.sync_detailed(client=reader, message_id=message.message_id),
    403,
    "own_message",
)
page = expect(MessagePage, list_messages.sync_detailed(client=reader, space_id=space_id), 200)
listed = [(each.message_id, each.appreciation_count) for each in page.items]
assert listed == [(message.message_id, 1)], page

# Answer the message, and list the answer.
reply = MessageCreation(space_id=space_id, text="Три", reply_to=message.message_id)
answer = expect(Message, send_message.sync_detailed(client=reader, body=reply), 201)
assert answer.is_reply and answer.reply_to, answer
assert answer.reply_to.message_id == message.message_id, answer
newer = expect(
    MessagePage,
    list_messages.sync_detailed(client=reader, space_id=space_id, after=page.newer_cursor, wait=25),
    200,
)
assert [each.message_id for each in newer.items] == [answer.message_id], newer

# Edit the answer.
edit = MessageEdit(text="Три и четыре")
editing = edit_message.sync_detailed(answer.message_id, client=reader, body=edit)
edited = expect(Message, editing, 200)
assert (edited.text, edited.word_count) == ("Три и четыре", 3), edited
assert edited.edited_at, edited
assert abs(datetime.now(UTC) - edited.edited_at) < timedelta(hours=1), edited

# Read a profile with large numbers.
veteran_credentials = Credentials(email="veteran@example.com", password=PASSWORD)
veteran = signed_in(
    expect(Session, login.sync_detailed(client=anyone, body=veteran_credentials), 200)
)
profile = expect(Profile, get_profile.sync_detailed(client=veteran), 200)
assert profile.stats.total_words_contributed == 16_777_217, profile
assert profile.is_verified and profile.email == "veteran@example.com", profile

# End a session.
sessions = expect(SessionPage, list_sessions.sync_detailed(client=veteran, limit=1), 200).items
assert [each.is_current for each in sessions] == [True], sessions
ended = end_session.sync_detailed(sessions[0].session_id, client=veteran)
expect(Confirmation, ended, 200)
expect_problem(get_profile.sync_detailed(client=veteran), 401, "unauthenticated")

# Change the username and the bio.
taken = UsernameChange(username=f"reader-{RUN}")
conflict = expect_problem(
    change_username.sync_detailed(client=author, body=taken), 409, "username_taken"
)
assert [each.pointer for each in conflict.errors] == ["/username"], conflict
username = f"author.{RUN}"
renamed = expect(
    Confirmation,
    change_username.sync_detailed(client=author, body=UsernameChange(username=username)),
    200,
)
assert username in renamed.message, renamed
bio = "Пеку по воскресеньям.\nСпорю о запятых."
expect(Confirmation, change_bio.sync_detailed(client=author, body=BioChange(bio=bio)), 200)
profile = expect(Profile, get_profile.sync_detailed(client=author), 200)
assert (profile.username, profile.bio) == (username, bio), profile
assert profile.stats.spaces_created == 3, profile

# Upload an avatar with and without a file name.
pictures = {profile.profile_picture}
for file in (File(BytesIO(AVATAR), "avatar.png", "image/png"), File(BytesIO(AVATAR))):
    picture = expect(
        Picture,
        change_profile_picture.sync_detailed(client=author, body=PictureChange(avatar=file)),
        200,
    )
    profile = expect(Profile, get_profile.sync_detailed(client=author), 200)
    assert profile.profile_picture == picture.profile_picture, profile
    pictures.add(picture.profile_picture)
assert len(pictures) == 3, pictures
too_large = PictureChange(avatar=File(BytesIO(bytes(MAX_AVATAR_BYTES + 1)), "avatar.png"))
expect_problem(
    change_profile_picture.sync_detailed(client=author, body=too_large), 413, "avatar_too_large"
)

# Change the password.
wrong = PasswordChange(current_password="not my password", new_password=NEW_PASSWORD)
expect_problem(
    change_password.sync_detailed(client=author, body=wrong), 403, "current_password_incorrect"
)
right = PasswordChange(current_password=PASSWORD, new_password=NEW_PASSWORD)
expect(Confirmation, change_password.sync_detailed(client=author, body=right), 200)
old_credentials = Credentials(email=f"author-{RUN}@example.com", password=PASSWORD)
expect_problem(
    login.sync_detailed(client=anyone, body=old_credentials), 401, "credentials_incorrect"
)

# Read what the server offers, and use an unknown token of a mail.
server = expect(Server, get_server.sync_detailed(client=anyone), 200)
assert server.sends_mail and server.limits.max_avatar_bytes == MAX_AVATAR_BYTES, server
reset_request = PasswordResetRequest(email=old_credentials.email)
expect(
    Confirmation, request_password_reset.sync_detailed(client=anyone, body=reset_request), 202
)
reset = PasswordReset(token="unknown", new_password=NEW_PASSWORD)
expect_problem(reset_password.sync_detailed(client=anyone, body=reset), 400, "invalid_token")
verification = EmailVerification(token="unknown")
expect_problem(verify_email.sync_detailed(client=anyone, body=verification), 400, "invalid_token")

# Delete the accounts.
for user in (author, reader):
    expect(Confirmation, delete_account.sync_detailed(client=user), 200)
    expect_problem(get_profile.sync_detailed(client=user), 401, "unauthenticated")
left = expect_results(search_spaces_by_tag.sync_detailed(client=anyone, tag=tag))
assert left == [], left
