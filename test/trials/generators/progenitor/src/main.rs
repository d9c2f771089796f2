//! Uses every important operation with the generated client. See ../../README.md for the steps.
//!
//! The client cannot upload an avatar: see ../build.rs. Instead, a body with too many tags provokes the 413.

use std::env;
use std::fmt::Debug;
use std::num::{NonZeroU32, NonZeroU64};

use client::{ByteStream, Client, Error, ResponseValue, types};
use futures_util::TryStreamExt;
use reqwest::header::{AUTHORIZATION, HeaderMap, LINK};

#[allow(dead_code)]
mod client {
    include!(concat!(env!("OUT_DIR"), "/client.rs"));
}

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

const PASSWORD: &str = "correct horse battery";
const NEW_PASSWORD: &str = "staple of the north wind";

/// The client returns problems as bytes.
async fn expect_problem<T: Debug>(
    result: Result<ResponseValue<T>, Error<ByteStream>>,
    status: u16,
    code: &str,
) -> Outcome<types::Problem> {
    let Err(Error::ErrorResponse(response)) = result else {
        panic!("{result:?} instead of {code}");
    };
    let found = response.status().as_u16();
    let chunks: Vec<_> = response.into_inner_stream().try_collect().await?;
    let problem: types::Problem = serde_json::from_slice(&chunks.concat())?;
    assert_eq!(found, status, "{problem:?}");
    assert_eq!(
        (problem.status, problem.code.as_str()),
        (i32::from(status), code)
    );
    assert!(
        !problem.detail.is_empty() && !problem.request_id.is_empty(),
        "{problem:?}"
    );
    Ok(problem)
}

fn signed_in(session: &types::Session) -> Outcome<Client> {
    let mut headers = HeaderMap::new();
    let value = format!("Bearer {}", session.access_token).parse()?;
    headers.insert(AUTHORIZATION, value);
    let http = reqwest::Client::builder()
        .default_headers(headers)
        .build()?;
    Ok(Client::new_with_client(&env::var("SERVER_URL")?, http))
}

fn registration(name: &str) -> Outcome<types::Registration> {
    let username = format!("{name}-{}", env::var("RUN")?);
    Ok(types::Registration {
        email: format!("{username}@example.com").parse()?,
        username: username.parse()?,
        password: PASSWORD.parse()?,
        device_name: None,
    })
}

fn next_cursor(headers: &HeaderMap) -> Outcome<Option<types::SearchSpacesCursor>> {
    let Some(link) = headers.get(LINK) else {
        return Ok(None);
    };
    let next_page = regex_lite::Regex::new(r#"<[^>]*[?&]cursor=([\w-]+)[^>]*>; rel="next""#)?;
    let captures = next_page
        .captures(link.to_str()?)
        .ok_or("Link has no cursor")?;
    Ok(Some(captures[1].parse()?))
}

fn ids(results: &[types::SearchResult]) -> Vec<&str> {
    results.iter().map(|each| each.space_id.as_str()).collect()
}

fn is_recent(time: chrono::DateTime<chrono::Utc>) -> bool {
    (chrono::Utc::now() - time).abs() < chrono::TimeDelta::hours(1)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome<()> {
    let run = env::var("RUN")?;
    let anyone = Client::new(&env::var("SERVER_URL")?);

    // Register two users.
    let author_session = anyone
        .register(&registration("author")?)
        .await?
        .into_inner();
    assert_eq!(author_session.token_type, env::var("TOKEN_TYPE")?);
    assert_eq!(author_session.expires_in.get(), 2_592_000);
    let author = signed_in(&author_session)?;
    let reader = signed_in(&*anyone.register(&registration("reader")?).await?)?;

    // Create three spaces.
    let tag = format!("c/c++ #1 50%? {run}");
    let mut spaces = Vec::new();
    for number in 1..=3 {
        let title = format!("Хлеб {run} {number}");
        let creation = types::SpaceCreation {
            title: title.parse()?,
            description: "Мука, вода, соль".parse()?,
            visibility: types::Visibility::Public,
            tags: types::TagNames(vec![tag.parse()?, "выпечка".parse()?]),
        };
        let space = author.create_space(None, &creation).await?.into_inner();
        assert_eq!(space.title, title);
        assert_eq!(space.description, "Мука, вода, соль");
        assert_eq!(space.visibility, env::var("VISIBILITY")?);
        assert_eq!(space.invitation_code, None);
        let tags: Vec<_> = space
            .tags
            .iter()
            .map(|each| each.tag_name.as_str())
            .collect();
        assert_eq!(tags, [tag.as_str(), "выпечка"]);
        assert!(space.tags[0].tag_id >= NonZeroU64::MIN, "{space:?}");
        assert_eq!(space.participant_count, 1);
        assert_eq!(space.creator.user_id, author_session.user_id);
        assert!(is_recent(space.created_at), "{space:?}");
        spaces.push(space);
    }
    let newest_first: Vec<_> = spaces
        .iter()
        .rev()
        .map(|each| each.space_id.as_str())
        .collect();

    // Search by text, in two pages.
    let query = format!("хлеб {run}").parse()?;
    let limit = NonZeroU32::new(2);
    let first = anyone
        .search_spaces(Some(true), None, limit, &query)
        .await?;
    assert_eq!(first.len(), 2);
    assert_eq!(first[0].title, spaces[2].title);
    let cursor = next_cursor(first.headers())?.ok_or("Link is missing")?;
    let second = anyone
        .search_spaces(Some(true), Some(&cursor), limit, &query)
        .await?;
    assert_eq!([ids(&first), ids(&second)].concat(), newest_first);
    assert!(next_cursor(second.headers())?.is_none());

    // Search by tag.
    let tagged = anyone
        .search_spaces_by_tag(&tag.parse()?, None, None)
        .await?;
    assert_eq!(ids(&tagged), newest_first);

    // List the author's spaces, in two pages.
    let first = author.list_participations(None, limit, None).await?;
    assert_eq!(first.items.len(), 2);
    let cursor = first
        .next_cursor
        .as_deref()
        .ok_or("no next_cursor")?
        .parse()?;
    let last = author
        .list_participations(Some(&cursor), limit, None)
        .await?;
    assert_eq!((last.items.len(), &last.next_cursor), (1, &None));
    assert_eq!(last.items[0].space.space_id, newest_first[2]);

    // Join without an invitation code, and send a message. The client requires a body.
    let space_id: types::Id = newest_first[2].parse()?;
    let send = async |text: &str, reply_to, key| -> Outcome<_> {
        let text = text.parse()?;
        let creation = types::MessageCreation {
            space_id: space_id.clone(),
            text,
            reply_to,
        };
        Ok(reader.send_message(key, &creation).await)
    };
    expect_problem(send("Привет", None, None).await?, 403, "not_a_participant").await?;
    let participation = reader
        .join_space(&space_id, &types::Invitation::default())
        .await?;
    assert_eq!(participation.space.space_id, newest_first[2]);
    assert_eq!(participation.space.participant_count, 2);
    assert!(is_recent(participation.joined_at), "{participation:?}");
    let text = "Привет, мир! 👋\nДва";
    let key = format!("idempotency-key-{run}").parse()?;
    let message = send(text, None, Some(&key)).await??;
    let repeated = send(text, None, Some(&key)).await??;
    assert_eq!(repeated.message_id, message.message_id);
    assert_eq!((message.text.as_str(), message.word_count), (text, 3));
    assert_eq!(message.appreciation_count, 0);
    assert_eq!(message.author.username, format!("reader-{run}"));

    // Appreciate the message.
    let message_id: types::Id = message.message_id.parse()?;
    let appreciated = author.appreciate_message(&message_id).await?;
    assert_eq!(appreciated.appreciation_count, 1);
    let own = reader.appreciate_message(&message_id).await;
    expect_problem(own, 403, "own_message").await?;
    let listed = anyone
        .list_messages(None, None, None, None, None, &space_id, None)
        .await?;
    let messages = &listed.items;
    assert_eq!(messages.len(), 1);
    assert_eq!(messages[0].message_id, message.message_id);
    assert_eq!(messages[0].appreciation_count, 1);

    // Wait for an answer.
    let after = listed.newer_cursor.parse()?;
    let original = message.message_id.parse()?;
    let (newer, answer) = tokio::join!(
        anyone.list_messages(Some(&after), None, None, None, None, &space_id, Some(25)),
        send("Три", Some(original), None),
    );
    let newer = &newer?.items;
    assert_eq!(newer.len(), 1);
    let answer = answer??;
    assert_eq!(newer[0].message_id, answer.message_id);
    assert!(answer.is_reply);
    let original = answer.reply_to.as_ref().map(|each| &each.message_id);
    assert_eq!(original, Some(&message.message_id));

    // Edit the answer.
    let edit = types::MessageEdit {
        text: "Три и четыре".parse()?,
    };
    let answer_id = answer.message_id.parse()?;
    let edited = reader.edit_message(&answer_id, None, None, &edit).await?;
    assert_eq!((edited.text.as_str(), edited.word_count), ("Три и четыре", 3));
    assert!(edited.edited_at.is_some_and(is_recent));

    // Read a profile with large numbers.
    let credentials = types::Credentials {
        email: "veteran@example.com".parse()?,
        password: PASSWORD.parse()?,
        device_name: None,
    };
    let veteran = signed_in(&*anyone.login(&credentials).await?)?;
    let profile = veteran.get_profile().await?;
    assert_eq!(profile.stats.total_words_contributed, 16_777_217);
    assert!(profile.is_verified);
    assert_eq!(profile.email, "veteran@example.com");

    // End a session.
    let listed = veteran.list_sessions(None, None).await?;
    let sessions = &listed.items;
    assert!(sessions[0].is_current, "{sessions:?}");
    let session_id = sessions[0].session_id.parse()?;
    veteran.end_session(&session_id).await?;
    expect_problem(veteran.get_profile().await, 401, "unauthenticated").await?;

    // Change the username and the bio.
    let taken = types::UsernameChange {
        username: format!("reader-{run}").parse()?,
    };
    let result = author.change_username(&taken).await;
    let conflict = expect_problem(result, 409, "username_taken").await?;
    assert_eq!(conflict.errors.len(), 1);
    assert_eq!(conflict.errors[0].pointer.as_deref(), Some("/username"));
    let username = format!("author.{run}");
    let change = types::UsernameChange {
        username: username.parse()?,
    };
    let renamed = author.change_username(&change).await?;
    assert!(renamed.message.contains(&username), "{renamed:?}");
    let bio = "Пеку по воскресеньям.\nСпорю о запятых.";
    author
        .change_bio(&types::BioChange { bio: bio.parse()? })
        .await?;
    let profile = author.get_profile().await?;
    assert_eq!(
        (profile.username.as_str(), profile.bio.as_str()),
        (username.as_str(), bio)
    );
    assert_eq!(profile.stats.spaces_created, 3);

    // Send a body that is too large.
    let large_tag: types::TagNamesItem = "a".repeat(64).parse()?;
    let too_large = types::SpaceCreation {
        title: "Хлеб".parse()?,
        description: "".parse()?,
        visibility: types::Visibility::Public,
        tags: types::TagNames(vec![large_tag; 1_000]),
    };
    let result = author.create_space(None, &too_large).await;
    expect_problem(result, 413, "body_too_large").await?;

    // Change the password.
    let change = |current: &str| -> Outcome<types::PasswordChange> {
        Ok(types::PasswordChange {
            current_password: current.parse()?,
            new_password: NEW_PASSWORD.parse()?,
        })
    };
    let result = author.change_password(&change("not my password")?).await;
    expect_problem(result, 403, "current_password_incorrect").await?;
    author.change_password(&change(PASSWORD)?).await?;
    let old_credentials = types::Credentials {
        email: format!("author-{run}@example.com").parse()?,
        password: PASSWORD.parse()?,
        device_name: None,
    };
    let result = anyone.login(&old_credentials).await;
    expect_problem(result, 401, "credentials_incorrect").await?;

    // Read what the server offers, and use an unknown token of a mail.
    let server = anyone.get_server().await?;
    assert!(server.sends_mail, "{server:?}");
    assert_eq!(server.limits.max_avatar_bytes.get(), 5_242_880);
    let email = old_credentials.email;
    anyone
        .request_password_reset(&types::PasswordResetRequest { email })
        .await?;
    let token: types::MailToken = "unknown".parse()?;
    let reset = types::PasswordReset {
        token: token.clone(),
        new_password: NEW_PASSWORD.parse()?,
    };
    let result = anyone.reset_password(&reset).await;
    expect_problem(result, 400, "invalid_token").await?;
    let verification = types::EmailVerification { token };
    let result = anyone.verify_email(&verification).await;
    expect_problem(result, 400, "invalid_token").await?;

    // Delete the accounts.
    for user in [&author, &reader] {
        user.delete_account().await?;
        expect_problem(user.get_profile().await, 401, "unauthenticated").await?;
    }
    let left = anyone
        .search_spaces_by_tag(&tag.parse()?, None, None)
        .await?;
    assert!(left.is_empty(), "{left:?}");
    Ok(())
}
