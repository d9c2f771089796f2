"""Answers each message that mentions the bot exactly once, in all spaces that it has joined."""

import os
import sqlite3

from service import ProblemError, connect, pages, result
from space_service.api.messages import list_messages, send_message
from space_service.api.profile import get_profile
from space_service.api.spaces import list_participations
from space_service.models import Message, MessageCreation, Participation

client = connect()
bot = result(get_profile.sync_detailed(client=client))
database = sqlite3.connect(os.environ.get("DATABASE", "mention-bot.sqlite"))
# Answers are kept when they have been sent, because an edit returns a message again.
database.executescript("""
CREATE TABLE IF NOT EXISTS list (cursor TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS spaces (space_id TEXT PRIMARY KEY, cursor TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS answers (
  message_id TEXT PRIMARY KEY, space_id TEXT NOT NULL, text TEXT NOT NULL, is_sent INTEGER NOT NULL);
""")


def follow() -> None:
    """Follows all spaces with one request at a time, which waits until something happens in any of them."""
    (cursor,) = database.execute("SELECT cursor FROM list").fetchone() or (read_list(),)
    while True:
        try:
            page = result(
                list_participations.sync_detailed(client=client, after=cursor, wait=25, limit=100)
            )
        except ProblemError as error:
            if error.code != "invalid_cursor":
                raise
            cursor = read_list()
            continue
        for participation in page.items:
            read_space(participation)
        for space_id in page.left_space_ids:
            forget_space(space_id)
        cursor = page.newer_cursor if page.is_complete else read_list()
        # After the spaces: if the bot is killed before, it reads them again.
        with database:
            database.execute("DELETE FROM list")
            database.execute("INSERT INTO list VALUES (?)", [cursor])


def read_list() -> str:
    """Reads all spaces. Returns the position of the list before that."""
    newer_cursor = ""
    for page in pages(list_participations.sync_detailed, client=client):
        newer_cursor = newer_cursor or page.newer_cursor
        for participation in page.items:
            read_space(participation)
    return newer_cursor


def read_space(participation: Participation) -> None:
    """Answers what is new in a space."""
    space_id = participation.space.space_id
    try:
        row = database.execute(
            "SELECT cursor FROM spaces WHERE space_id = ?", [space_id]
        ).fetchone()
        cursor = row[0] if row else read_since_joined(participation)
        while True:
            page = result(
                list_messages.sync_detailed(
                    client=client, space_id=space_id, after=cursor, limit=100
                )
            )
            cursor = page.newer_cursor
            # An edit can add a mention.
            store_answers(space_id, page.items + page.changed_items, cursor)
            if not (page.items or page.changed_items or page.deleted_message_ids):
                break
    except ProblemError as error:
        # 404 if the bot has lost access meanwhile.
        if error.status != 404 and error.code != "invalid_cursor":
            raise
        forget_space(space_id)
        if error.code == "invalid_cursor":
            read_space(participation)
    send_answers()


def read_since_joined(participation: Participation) -> str:
    """Reads a space that the bot has joined, newest message first. Returns the position after the newest one."""
    newer_cursor = ""
    messages: list[Message] = []
    space_id = participation.space.space_id
    for page in pages(list_messages.sync_detailed, client=client, space_id=space_id):
        newer_cursor = newer_cursor or page.newer_cursor
        messages += [each for each in page.items if each.created_at >= participation.joined_at]
        if any(each.created_at < participation.joined_at for each in page.items):
            break
    store_answers(space_id, messages, newer_cursor)
    return newer_cursor


def store_answers(space_id: str, messages: list[Message], cursor: str) -> None:
    """Stores the answers with the position in one transaction, so a kill loses and repeats none of them."""
    with database:
        for message in messages:
            if any(user.user_id == bot.user_id for user in message.mentions):
                text = f"Your message has {message.word_count} words."
                database.execute(
                    "INSERT INTO answers VALUES (?, ?, ?, 0) ON CONFLICT DO NOTHING",
                    [message.message_id, space_id, text],
                )
        database.execute("INSERT OR REPLACE INTO spaces VALUES (?, ?)", [space_id, cursor])


def send_answers() -> None:
    """Sends what is stored. A repetition after a kill has the same key, so it has no further effect."""
    unsent = database.execute("SELECT message_id, space_id, text FROM answers WHERE NOT is_sent")
    for message_id, space_id, text in unsent.fetchall():
        answer = MessageCreation(space_id=space_id, text=text, reply_to=message_id)
        key = f"answer-to-{message_id}"
        try:
            result(send_message.sync_detailed(client=client, body=answer, idempotency_key=key))
        except ProblemError as error:
            # The message has been deleted, the bot has left the space, or must not write in it.
            if error.status not in (403, 404) or error.code == "insufficient_scope":
                raise
        with database:
            database.execute("UPDATE answers SET is_sent = 1 WHERE message_id = ?", [message_id])


def forget_space(space_id: str) -> None:
    with database:
        database.execute("DELETE FROM spaces WHERE space_id = ?", [space_id])


send_answers()
follow()
