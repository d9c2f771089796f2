//! Uses every important operation with the generated client. See ../../README.md for the steps.

use std::env;
use std::fmt::Debug;
use std::fs;
use std::path::PathBuf;

use reqwest::header::LINK;
use space_service::apis::configuration::Configuration;
use space_service::apis::{
    Error, auth_api, messages_api, profile_api, search_api, server_api, spaces_api,
};
use space_service::models;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

const PASSWORD: &str = "correct horse battery";
const NEW_PASSWORD: &str = "staple of the north wind";
const MAX_AVATAR_BYTES: usize = 5_242_880;

/// The variants of the error types cannot be distinguished by their content, so this parses the problem itself.
fn expect_problem<T: Debug, E: Debug>(
    result: Result<T, Error<E>>,
    status: u16,
    code: &str,
) -> Outcome<models::Problem> {
    let Err(Error::ResponseError(response)) = result else {
        panic!("{result:?} instead of {code}");
    };
    let problem: models::Problem = serde_json::from_str(&response.content)?;
    assert_eq!(response.status.as_u16(), status, "{problem:?}");
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

fn signed_in(anyone: &Configuration, session: &models::Session) -> Configuration {
    Configuration {
        bearer_access_token: Some(session.access_token.clone()),
        ..anyone.clone()
    }
}

fn ids(results: &[models::SearchResult]) -> Vec<&str> {
    results.iter().map(|each| each.space_id.as_str()).collect()
}

fn is_recent(time: chrono::DateTime<chrono::FixedOffset>) -> bool {
    chrono::Utc::now().signed_duration_since(time).abs() < chrono::TimeDelta::hours(1)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome<()> {
    let run = env::var("RUN")?;
    let anyone = Configuration {
        base_path: env::var("SERVER_URL")?,
        ..Configuration::default()
    };
    let registration = |name: &str| {
        let username = format!("{name}-{run}");
        let email = format!("{username}@example.com");
        models::Registration::new(username, email, PASSWORD.to_owned())
    };

    // Register two users.
    let author_session = auth_api::register(&anyone, registration("author")).await?;
    assert_eq!(
        author_session.token_type,
        env::var("TOKEN_TYPE")?
    );
    assert_eq!(author_session.expires_in, 2_592_000);
    let author = signed_in(&anyone, &author_session);
    let reader = signed_in(
        &anyone,
        &auth_api::register(&anyone, registration("reader")).await?,
    );

    // Create three spaces. The tag has no space, because the client encodes it as + in paths.
    let tag = format!("c/c++/#1/50%?/{run}");
    let mut spaces = Vec::new();
    for number in 1..=3 {
        let creation = models::SpaceCreation::new(
            format!("Хлеб {run} {number}"),
            "Мука, вода, соль".to_owned(),
            models::Visibility::Public,
            vec![tag.clone(), "выпечка".to_owned()],
        );
        let space = spaces_api::create_space(&author, creation.clone(), None).await?;
        assert_eq!(space.title, creation.title);
        assert_eq!(space.description, creation.description);
        assert_eq!(space.visibility, env::var("VISIBILITY")?);
        assert_eq!(space.invitation_code, None);
        let tags: Vec<_> = space.tags.iter().map(|each| &each.tag_name).collect();
        assert_eq!(tags, creation.tags.iter().collect::<Vec<_>>());
        assert!(space.tags[0].tag_id >= 1, "{space:?}");
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

    // Search by text, in two pages. The client does not return headers, so this requests the first page without it.
    let query = format!("хлеб {run}");
    let url = format!("{}/api/spaces/search", anyone.base_path);
    let parameters = [("q", query.as_str()), ("as_typed", "true"), ("limit", "2")];
    let response = anyone.client.get(url).query(&parameters).send().await?;
    let link = response.headers()[LINK].to_str()?.to_owned();
    let next_page = regex_lite::Regex::new(r#"<[^>]*[?&]cursor=([\w-]+)[^>]*>; rel="next""#)?;
    let cursor = &next_page.captures(&link).ok_or(link.clone())?[1];
    let first: Vec<models::SearchResult> = serde_json::from_str(&response.text().await?)?;
    assert_eq!(first[0].title, spaces[2].title);
    let second =
        search_api::search_spaces(&anyone, &query, Some(true), Some(2), Some(cursor)).await?;
    assert_eq!(first.len(), 2);
    assert_eq!([ids(&first), ids(&second)].concat(), newest_first);
    let same = search_api::search_spaces(&anyone, &query, Some(true), Some(2), None).await?;
    assert_eq!(same, first);

    // Search by tag.
    let tagged = search_api::search_spaces_by_tag(&anyone, &tag, None, None).await?;
    assert_eq!(ids(&tagged), newest_first);

    // List the author's spaces, in two pages.
    let first = spaces_api::list_participations(&author, Some(2), None, None).await?;
    assert_eq!(first.items.len(), 2);
    let cursor = first.next_cursor.as_deref().ok_or("no next_cursor")?;
    let last = spaces_api::list_participations(&author, Some(2), Some(cursor), None).await?;
    assert_eq!((last.items.len(), last.next_cursor), (1, None));
    assert_eq!(last.items[0].space.space_id, newest_first[2]);

    // Join without a body, and send a message. The client sends null.
    let space_id = newest_first[2];
    let send = |text: &str, key| {
        let creation = models::MessageCreation::new(space_id.to_owned(), text.to_owned());
        messages_api::send_message(&reader, creation, key)
    };
    expect_problem(send("Привет", None).await, 403, "not_a_participant")?;
    let participation = spaces_api::join_space(&reader, space_id, None).await?;
    assert_eq!(participation.space.space_id, space_id);
    assert_eq!(participation.space.participant_count, 2);
    assert!(is_recent(participation.joined_at), "{participation:?}");
    let text = "Привет, мир! 👋\nДва";
    let key = format!("idempotency-key-{run}");
    let message = send(text, Some(&key)).await?;
    assert_eq!(send(text, Some(&key)).await?.message_id, message.message_id);
    assert_eq!((message.text.as_str(), message.word_count), (text, 3));
    assert_eq!(message.appreciation_count, 0);
    assert_eq!(message.author.username, format!("reader-{run}"));

    // Appreciate the message.
    let message_id = &message.message_id;
    let appreciated = messages_api::appreciate_message(&author, message_id).await?;
    assert_eq!(appreciated.appreciation_count, 1);
    let own = messages_api::appreciate_message(&reader, message_id).await;
    expect_problem(own, 403, "own_message")?;
    let page =
        messages_api::list_messages(&anyone, space_id, None, None, None, None, None, None).await?;
    let messages = page.items;
    assert_eq!(messages.len(), 1);
    assert_eq!(
        (&messages[0].message_id, messages[0].appreciation_count),
        (message_id, 1)
    );

    // Wait for an answer.
    let reply = models::MessageCreation {
        reply_to: Some(Some(message_id.clone())),
        ..models::MessageCreation::new(space_id.to_owned(), "Три".to_owned())
    };
    let after = Some(page.newer_cursor.as_str());
    let (newer, answer) = tokio::join!(
        messages_api::list_messages(&anyone, space_id, None, None, None, None, after, Some(25)),
        messages_api::send_message(&reader, reply, None),
    );
    let newer = newer?.items;
    assert_eq!(newer.len(), 1);
    let answer = answer?;
    assert_eq!(newer[0].message_id, answer.message_id);
    assert!(answer.is_reply);
    assert_eq!(answer.reply_to.map(|original| original.message_id).as_ref(), Some(message_id));

    // Edit the answer.
    let edit = models::MessageEdit::new("Три и четыре".to_owned());
    let edited = messages_api::edit_message(&reader, &answer.message_id, edit, None, None).await?;
    assert_eq!((edited.text.as_str(), edited.word_count), ("Три и четыре", 3));
    assert!(edited.edited_at.is_some_and(is_recent));

    // Read a profile with large numbers.
    let credentials =
        models::Credentials::new("veteran@example.com".to_owned(), PASSWORD.to_owned());
    let veteran = signed_in(&anyone, &auth_api::login(&anyone, credentials).await?);
    let profile = profile_api::get_profile(&veteran).await?;
    assert_eq!(profile.stats.total_words_contributed, 16_777_217);
    assert!(profile.is_verified);
    assert_eq!(profile.email, "veteran@example.com");

    // End a session.
    let sessions = auth_api::list_sessions(&veteran, None, None).await?.items;
    assert!(sessions[0].is_current, "{sessions:?}");
    auth_api::end_session(&veteran, &sessions[0].session_id).await?;
    let result = profile_api::get_profile(&veteran).await;
    expect_problem(result, 401, "unauthenticated")?;

    // Change the username and the bio.
    let taken = models::UsernameChange::new(format!("reader-{run}"));
    let result = profile_api::change_username(&author, taken).await;
    let conflict = expect_problem(result, 409, "username_taken")?;
    assert_eq!(conflict.errors.len(), 1);
    assert_eq!(conflict.errors[0].pointer.as_deref(), Some("/username"));
    let username = format!("author.{run}");
    let change = models::UsernameChange::new(username.clone());
    let renamed = profile_api::change_username(&author, change).await?;
    assert!(renamed.message.contains(&username), "{renamed:?}");
    let bio = "Пеку по воскресеньям.\nСпорю о запятых.";
    profile_api::change_bio(&author, models::BioChange::new(bio.to_owned())).await?;
    let profile = profile_api::get_profile(&author).await?;
    assert_eq!(
        (profile.username.as_str(), profile.bio.as_str()),
        (username.as_str(), bio)
    );
    assert_eq!(profile.stats.spaces_created, 3);

    // Upload an avatar. The client sends the name of the file.
    let avatar = PathBuf::from(env::var("AVATAR_FILE")?);
    let picture = profile_api::change_profile_picture(&author, avatar).await?;
    assert_ne!(picture.profile_picture, profile.profile_picture);
    let profile = profile_api::get_profile(&author).await?;
    assert_eq!(profile.profile_picture, picture.profile_picture);
    let too_large = PathBuf::from("too-large.png");
    fs::write(&too_large, vec![0; MAX_AVATAR_BYTES + 1])?;
    let result = profile_api::change_profile_picture(&author, too_large).await;
    expect_problem(result, 413, "avatar_too_large")?;

    // Change the password.
    let change = |current: &str| {
        let change = models::PasswordChange::new(current.to_owned(), NEW_PASSWORD.to_owned());
        profile_api::change_password(&author, change)
    };
    expect_problem(
        change("not my password").await,
        403,
        "current_password_incorrect",
    )?;
    change(PASSWORD).await?;
    let email = format!("author-{run}@example.com");
    let old_credentials = models::Credentials::new(email, PASSWORD.to_owned());
    let result = auth_api::login(&anyone, old_credentials).await;
    expect_problem(result, 401, "credentials_incorrect")?;

    // Read what the server offers, and use an unknown token of a mail.
    let server = server_api::get_server(&anyone).await?;
    assert!(server.sends_mail, "{server:?}");
    assert_eq!(server.limits.max_avatar_bytes, MAX_AVATAR_BYTES as i64);
    let request = models::PasswordResetRequest::new(format!("author-{run}@example.com"));
    auth_api::request_password_reset(&anyone, request).await?;
    let reset = models::PasswordReset::new("unknown".to_owned(), NEW_PASSWORD.to_owned());
    let result = auth_api::reset_password(&anyone, reset).await;
    expect_problem(result, 400, "invalid_token")?;
    let verification = models::EmailVerification::new("unknown".to_owned());
    let result = auth_api::verify_email(&anyone, verification).await;
    expect_problem(result, 400, "invalid_token")?;

    // Delete the accounts.
    for user in [&author, &reader] {
        profile_api::delete_account(user).await?;
        expect_problem(profile_api::get_profile(user).await, 401, "unauthenticated")?;
    }
    let left = search_api::search_spaces_by_tag(&anyone, &tag, None, None).await?;
    assert_eq!(left, []);
    Ok(())
}
