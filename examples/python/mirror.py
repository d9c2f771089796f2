"""Copies the spaces of the account and their messages into a DuckDB file. Each run copies only what has changed."""

import os

import duckdb

from service import ProblemError, connect, pages, result
from space_service.api.messages import list_messages
from space_service.api.spaces import list_participations
from space_service.models import MessagePage, Space

client = connect()
database = duckdb.connect(os.environ.get("DATABASE", "mirror.duckdb"))
# `older` and `newer` are the positions in the list of messages up to which a space has been copied.
database.execute("""
CREATE TABLE IF NOT EXISTS spaces (
  space_id TEXT PRIMARY KEY, title TEXT, description TEXT, visibility TEXT, created_at TIMESTAMPTZ);
CREATE TABLE IF NOT EXISTS positions (space_id TEXT PRIMARY KEY, older TEXT, newer TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS messages (
  message_id TEXT PRIMARY KEY, space_id TEXT, author_id TEXT, author TEXT, text TEXT, word_count BIGINT,
  appreciation_count BIGINT, created_at TIMESTAMPTZ, edited_at TIMESTAMPTZ);
""")


def mirror() -> None:
    spaces = [
        participation.space
        for page in pages(list_participations.sync_detailed, client=client)
        for participation in page.items
    ]
    copied = {row[0] for row in database.execute("SELECT space_id FROM spaces").fetchall()}
    for space_id in copied - {space.space_id for space in spaces}:
        delete_space(space_id)
    for space in spaces:
        try:
            copy_space(space)
        except ProblemError as error:
            # 404 if the space has been deleted since, or the account has lost access.
            if error.status != 404 and error.code != "invalid_cursor":
                raise
            delete_space(space.space_id)
            if error.code == "invalid_cursor":
                copy_space(space)


def copy_space(space: Space) -> None:
    space_id = space.space_id
    values = [space_id, space.title, space.description, space.visibility, space.created_at]
    database.execute("INSERT OR REPLACE INTO spaces VALUES (?, ?, ?, ?, ?)", values)
    query = "SELECT older, newer FROM positions WHERE space_id = ?"
    row = database.execute(query, [space_id]).fetchone()
    if row is None:
        first = read_page(space_id)
        row = (first.next_cursor, first.newer_cursor)
        store(space_id, first, *row)
    older, newer = row
    # Older messages first, so that later changes of them are applied after them.
    while older:
        page = read_page(space_id, cursor=older)
        older = page.next_cursor
        store(space_id, page, older, newer)
    while True:
        page = read_page(space_id, after=newer)
        if not page.is_complete:
            # After more than seven days, changes and deletions are missing: copies the space again.
            delete_messages(space_id)
            return copy_space(space)
        newer = page.newer_cursor
        store(space_id, page, older, newer)
        if not (page.items or page.changed_items or page.deleted_message_ids):
            return


def read_page(space_id: str, **position: str) -> MessagePage:
    return result(
        list_messages.sync_detailed(client=client, space_id=space_id, limit=100, **position)
    )


def store(space_id: str, page: MessagePage, older: str | None, newer: str) -> None:
    """Stores messages with the position after them in one transaction, so a kill loses and repeats none of them."""
    database.begin()
    # A message can be new and changed at the same time.
    for message in {each.message_id: each for each in page.items + page.changed_items}.values():
        values = [
            message.message_id,
            message.space_id,
            message.author.user_id,
            message.author.username,
            message.text,
            message.word_count,
            message.appreciation_count,
            message.created_at,
            message.edited_at,
        ]
        database.execute(
            "INSERT OR REPLACE INTO messages VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", values
        )
    for message_id in page.deleted_message_ids:
        database.execute("DELETE FROM messages WHERE message_id = ?", [message_id])
    database.execute("INSERT OR REPLACE INTO positions VALUES (?, ?, ?)", [space_id, older, newer])
    database.commit()


def delete_space(space_id: str) -> None:
    delete_messages(space_id)
    database.execute("DELETE FROM spaces WHERE space_id = ?", [space_id])


def delete_messages(space_id: str) -> None:
    database.begin()
    database.execute("DELETE FROM messages WHERE space_id = ?", [space_id])
    database.execute("DELETE FROM positions WHERE space_id = ?", [space_id])
    database.commit()


mirror()
