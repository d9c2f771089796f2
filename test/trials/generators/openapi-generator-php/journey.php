<?php

// Uses every important operation with the generated client. See ../README.md for the steps.

declare(strict_types=1);

use GuzzleHttp\Client;
use OpenAPI\Client\Api\AuthApi;
use OpenAPI\Client\Api\MessagesApi;
use OpenAPI\Client\Api\ProfileApi;
use OpenAPI\Client\Api\SearchApi;
use OpenAPI\Client\Api\ServerApi;
use OpenAPI\Client\Api\SpacesApi;
use OpenAPI\Client\ApiException;
use OpenAPI\Client\Configuration;
use OpenAPI\Client\Model\BioChange;
use OpenAPI\Client\Model\Credentials;
use OpenAPI\Client\Model\EmailVerification;
use OpenAPI\Client\Model\MessageCreation;
use OpenAPI\Client\Model\MessageEdit;
use OpenAPI\Client\Model\PasswordChange;
use OpenAPI\Client\Model\PasswordReset;
use OpenAPI\Client\Model\PasswordResetRequest;
use OpenAPI\Client\Model\Problem;
use OpenAPI\Client\Model\Registration;
use OpenAPI\Client\Model\SearchResult;
use OpenAPI\Client\Model\Session;
use OpenAPI\Client\Model\SpaceCreation;
use OpenAPI\Client\Model\Tag;
use OpenAPI\Client\Model\UsernameChange;
use OpenAPI\Client\Model\Visibility;

require_once 'GuzzleHttp/autoload.php';

spl_autoload_register(function (string $class): void {
    $prefix = 'OpenAPI\\Client\\';
    if (str_starts_with($class, $prefix)) {
        require __DIR__ . '/client/lib/' . str_replace('\\', '/', substr($class, strlen($prefix))) . '.php';
    }
});

// Warnings and deprecations are errors.
error_reporting(E_ALL);
set_error_handler(function (int $severity, string $message, string $file, int $line): never {
    throw new ErrorException($message, 0, $severity, $file, $line);
});

const PASSWORD = 'correct horse battery';
const NEW_PASSWORD = 'staple of the north wind';
const MAX_AVATAR_BYTES = 5_242_880;

define('RUN', getenv('RUN'));

function expectSame(mixed $actual, mixed $expected): void
{
    if ($actual !== $expected) {
        throw new UnexpectedValueException(var_export($actual, true) . ' instead of ' . var_export($expected, true));
    }
}

function expectProblem(int $status, string $code, callable $request): Problem
{
    try {
        $request();
    } catch (ApiException $exception) {
        $problem = $exception->getResponseObject();
        expectSame($problem instanceof Problem, true);
        expectSame([$exception->getCode(), $problem->getStatus(), $problem->getCode()], [$status, $status, $code]);
        expectSame($problem->getDetail() !== '' && $problem->getRequestId() !== '', true);
        return $problem;
    }
    throw new UnexpectedValueException("The request succeeded instead of $code");
}

function signedIn(?Session $session): Configuration
{
    $configuration = (new Configuration())->setHost((string) getenv('SERVER_URL'));
    return $session === null ? $configuration : $configuration->setAccessToken($session->getAccessToken());
}

// Models are created with arrays, because the setters reject Cyrillic text.
function registration(string $name): Registration
{
    $username = $name . '-' . RUN;
    return new Registration(['username' => $username, 'email' => "$username@example.com", 'password' => PASSWORD]);
}

/** @param array<string, string[]> $headers */
function nextCursor(array $headers): ?string
{
    $link = array_change_key_case($headers)['link'][0] ?? '';
    return preg_match('/<[^>]*[?&]cursor=([\w-]+)[^>]*>; rel="next"/', $link, $match) ? $match[1] : null;
}

/**
 * @param SearchResult[] $results
 * @return string[]
 */
function ids(array $results): array
{
    return array_map(fn (SearchResult $each): string => $each->getSpaceId(), $results);
}

function expectRecent(DateTime $time): void
{
    expectSame(abs($time->getTimestamp() - time()) < 3600, true);
}

// Otherwise, the client sends booleans as 1 and 0. It reads this setting only from the default configuration.
Configuration::getDefaultConfiguration()->setBooleanFormatForQueryString(Configuration::BOOLEAN_FORMAT_STRING);

$http = new Client();
$auth = new AuthApi($http, signedIn(null));
$search = new SearchApi($http, signedIn(null));

// Register two users.
$authorSession = $auth->register(registration('author'));
expectSame([$authorSession->getTokenType(), $authorSession->getExpiresIn()], [getenv('TOKEN_TYPE'), 2_592_000]);
$author = signedIn($authorSession);
$reader = signedIn($auth->register(registration('reader')));

// Create three spaces.
$tag = 'c/c++ #1 50%? ' . RUN;
$titles = [];
$newestFirst = [];
foreach ([1, 2, 3] as $number) {
    $title = 'Хлеб ' . RUN . " $number";
    $space = (new SpacesApi($http, $author))->createSpace(new SpaceCreation([
        'title' => $title,
        'description' => 'Мука, вода, соль',
        'visibility' => Visibility::_PUBLIC,
        'tags' => [$tag, 'выпечка'],
    ]));
    expectSame([$space->getTitle(), $space->getDescription()], [$title, 'Мука, вода, соль']);
    expectSame([$space->getVisibility(), $space->getInvitationCode()], [getenv('VISIBILITY'), null]);
    expectSame(array_map(fn (Tag $each): string => $each->getTagName(), $space->getTags()), [$tag, 'выпечка']);
    expectSame($space->getTags()[0]->getTagId() >= 1, true);
    expectSame($space->getParticipantCount(), 1);
    expectSame($space->getCreator()->getUserId(), $authorSession->getUserId());
    expectRecent($space->getCreatedAt());
    $titles[] = $title;
    array_unshift($newestFirst, $space->getSpaceId());
}

// Search by text, in two pages.
[$first, , $headers] = $search->searchSpacesWithHttpInfo('хлеб ' . RUN, true, 2);
expectSame([count($first), $first[0]->getTitle()], [2, $titles[2]]);
$cursor = nextCursor($headers);
expectSame($cursor !== null, true);
[$second, , $headers] = $search->searchSpacesWithHttpInfo('хлеб ' . RUN, true, 2, $cursor);
expectSame(ids([...$first, ...$second]), $newestFirst);
expectSame(nextCursor($headers), null);

// Search by tag.
expectSame(ids($search->searchSpacesByTag($tag)), $newestFirst);

// List the author's spaces, in two pages.
$authorSpaces = new SpacesApi($http, $author);
$firstSpaces = $authorSpaces->listParticipations(2);
expectSame([count($firstSpaces->getItems()), is_string($firstSpaces->getNextCursor())], [2, true]);
$lastSpaces = $authorSpaces->listParticipations(2, $firstSpaces->getNextCursor());
expectSame([count($lastSpaces->getItems()), $lastSpaces->getNextCursor()], [1, null]);
expectSame($lastSpaces->getItems()[0]->getSpace()->getSpaceId(), $newestFirst[2]);

// Join without a body, and send a message.
$spaceId = $newestFirst[2];
$readerMessages = new MessagesApi($http, $reader);
$early = new MessageCreation(['space_id' => $spaceId, 'text' => 'Привет']);
expectProblem(403, 'not_a_participant', fn () => $readerMessages->sendMessage($early));
$participation = (new SpacesApi($http, $reader))->joinSpace($spaceId);
expectSame($participation->getSpace()->getSpaceId(), $spaceId);
expectSame($participation->getSpace()->getParticipantCount(), 2);
expectRecent($participation->getJoinedAt());
$text = "Привет, мир! 👋\nДва";
$creation = new MessageCreation(['space_id' => $spaceId, 'text' => $text]);
$message = $readerMessages->sendMessage($creation, 'idempotency-key-' . RUN);
$repeated = $readerMessages->sendMessage($creation, 'idempotency-key-' . RUN);
expectSame($repeated->getMessageId(), $message->getMessageId());
expectSame([$message->getText(), $message->getWordCount(), $message->getAppreciationCount()], [$text, 3, 0]);
expectSame($message->getAuthor()->getUsername(), 'reader-' . RUN);

// Appreciate the message.
$messageId = $message->getMessageId();
$appreciated = (new MessagesApi($http, $author))->appreciateMessage($messageId);
expectSame($appreciated->getAppreciationCount(), 1);
expectProblem(403, 'own_message', fn () => $readerMessages->appreciateMessage($messageId));
$anyMessages = new MessagesApi($http, signedIn(null));
$page = $anyMessages->listMessages($spaceId);
$messages = $page->getItems();
expectSame([count($messages), $messages[0]->getMessageId()], [1, $messageId]);
expectSame($messages[0]->getAppreciationCount(), 1);

// Answer the message, and list the answer.
$reply = new MessageCreation(['space_id' => $spaceId, 'text' => 'Три', 'reply_to' => $messageId]);
$answer = $readerMessages->sendMessage($reply);
expectSame([$answer->getIsReply(), $answer->getReplyTo()?->getMessageId()], [true, $messageId]);
$newer = $anyMessages->listMessages($spaceId, after: $page->getNewerCursor(), wait: 25)->getItems();
expectSame([count($newer), $newer[0]->getMessageId()], [1, $answer->getMessageId()]);

// Edit the answer.
$edited = $readerMessages->editMessage($answer->getMessageId(), new MessageEdit(['text' => 'Три и четыре']));
expectSame([$edited->getText(), $edited->getWordCount()], ['Три и четыре', 3]);
expectRecent($edited->getEditedAt());

// Read a profile with large numbers.
$veteran = signedIn($auth->login(new Credentials(['email' => 'veteran@example.com', 'password' => PASSWORD])));
$profile = (new ProfileApi($http, $veteran))->getProfile();
expectSame($profile->getStats()->getTotalWordsContributed(), 16_777_217);
expectSame([$profile->getIsVerified(), $profile->getEmail()], [true, 'veteran@example.com']);

// End a session.
$veteranAuth = new AuthApi($http, $veteran);
$session = $veteranAuth->listSessions()->getItems()[0];
expectSame($session->getIsCurrent(), true);
$veteranAuth->endSession($session->getSessionId());
expectProblem(401, 'unauthenticated', fn () => (new ProfileApi($http, $veteran))->getProfile());

// Change the username and the bio.
$authorProfile = new ProfileApi($http, $author);
$taken = new UsernameChange(['username' => 'reader-' . RUN]);
$conflict = expectProblem(409, 'username_taken', fn () => $authorProfile->changeUsername($taken));
expectSame([count($conflict->getErrors()), $conflict->getErrors()[0]->getPointer()], [1, '/username']);
$username = 'author.' . RUN;
$renamed = $authorProfile->changeUsername(new UsernameChange(['username' => $username]));
expectSame(str_contains($renamed->getMessage(), $username), true);
$bio = "Пеку по воскресеньям.\nСпорю о запятых.";
$authorProfile->changeBio(new BioChange(['bio' => $bio]));
$profile = $authorProfile->getProfile();
expectSame([$profile->getUsername(), $profile->getBio()], [$username, $bio]);
expectSame($profile->getStats()->getSpacesCreated(), 3);

// Upload an avatar. The client sends the name of the file.
$avatar = new SplFileObject((string) getenv('AVATAR_FILE'));
$picture = $authorProfile->changeProfilePicture($avatar)->getProfilePicture();
expectSame($picture !== $profile->getProfilePicture(), true);
expectSame($authorProfile->getProfile()->getProfilePicture(), $picture);
file_put_contents('too-large.png', str_repeat("\0", MAX_AVATAR_BYTES + 1));
$tooLarge = new SplFileObject('too-large.png');
expectProblem(413, 'avatar_too_large', fn () => $authorProfile->changeProfilePicture($tooLarge));

// Change the password.
$wrong = new PasswordChange(['current_password' => 'not my password', 'new_password' => NEW_PASSWORD]);
expectProblem(403, 'current_password_incorrect', fn () => $authorProfile->changePassword($wrong));
$authorProfile->changePassword(new PasswordChange(['current_password' => PASSWORD, 'new_password' => NEW_PASSWORD]));
$oldCredentials = new Credentials(['email' => 'author-' . RUN . '@example.com', 'password' => PASSWORD]);
expectProblem(401, 'credentials_incorrect', fn () => $auth->login($oldCredentials));

// Read what the server offers, and use an unknown token of a mail.
$server = (new ServerApi($http, signedIn(null)))->getServer();
expectSame([$server->getSendsMail(), $server->getLimits()->getMaxAvatarBytes()], [true, MAX_AVATAR_BYTES]);
$auth->requestPasswordReset(new PasswordResetRequest(['email' => $oldCredentials->getEmail()]));
$reset = new PasswordReset(['token' => 'unknown', 'new_password' => NEW_PASSWORD]);
expectProblem(400, 'invalid_token', fn () => $auth->resetPassword($reset));
$verification = new EmailVerification(['token' => 'unknown']);
expectProblem(400, 'invalid_token', fn () => $auth->verifyEmail($verification));

// Delete the accounts.
foreach ([$author, $reader] as $user) {
    $userProfile = new ProfileApi($http, $user);
    $userProfile->deleteAccount();
    expectProblem(401, 'unauthenticated', fn () => $userProfile->getProfile());
}
expectSame($search->searchSpacesByTag($tag), []);
