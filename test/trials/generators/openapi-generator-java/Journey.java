import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.ApiResponse;
import org.openapitools.client.api.AuthApi;
import org.openapitools.client.api.MessagesApi;
import org.openapitools.client.api.ProfileApi;
import org.openapitools.client.api.SearchApi;
import org.openapitools.client.api.ServerApi;
import org.openapitools.client.api.SpacesApi;
import org.openapitools.client.model.BioChange;
import org.openapitools.client.model.Credentials;
import org.openapitools.client.model.EmailVerification;
import org.openapitools.client.model.Message;
import org.openapitools.client.model.MessageCreation;
import org.openapitools.client.model.MessageEdit;
import org.openapitools.client.model.MessagePage;
import org.openapitools.client.model.Participation;
import org.openapitools.client.model.ParticipationPage;
import org.openapitools.client.model.PasswordChange;
import org.openapitools.client.model.PasswordReset;
import org.openapitools.client.model.PasswordResetRequest;
import org.openapitools.client.model.Problem;
import org.openapitools.client.model.Profile;
import org.openapitools.client.model.Registration;
import org.openapitools.client.model.SearchResult;
import org.openapitools.client.model.Server;
import org.openapitools.client.model.Session;
import org.openapitools.client.model.SessionSummary;
import org.openapitools.client.model.Space;
import org.openapitools.client.model.SpaceCreation;
import org.openapitools.client.model.Tag;
import org.openapitools.client.model.UsernameChange;
import org.openapitools.client.model.Visibility;

/** Uses every important operation with the generated client. See ../README.md for the steps. */
final class Journey {
    private static final String RUN = System.getenv("RUN");
    private static final String PASSWORD = "correct horse battery";
    private static final String NEW_PASSWORD = "staple of the north wind";
    private static final int MAX_AVATAR_BYTES = 5_242_880;
    private static final Pattern NEXT_PAGE = Pattern.compile("<[^>]*[?&]cursor=([\\w-]+)[^>]*>; rel=\"next\"");

    private Journey() {}

    @FunctionalInterface
    private interface Request {
        void send() throws ApiException;
    }

    private static void expect(boolean isTrue, Object value) {
        if (!isTrue) {
            throw new AssertionError(value);
        }
    }

    private static void expectEqual(Object actual, Object expected) {
        expect(Objects.equals(actual, expected), actual + " instead of " + expected);
    }

    private static Problem expectProblem(int status, String code, Request request) throws IOException {
        try {
            request.send();
        } catch (ApiException exception) {
            expectEqual(exception.getCode(), status);
            Problem problem =
                    ApiClient.createDefaultObjectMapper().readValue(exception.getResponseBody(), Problem.class);
            expectEqual(problem.getStatus(), status);
            expectEqual(problem.getCode(), code);
            expect(!problem.getDetail().isEmpty() && !problem.getRequestId().isEmpty(), problem);
            return problem;
        }
        throw new AssertionError("The request succeeded instead of " + code);
    }

    private static ApiClient client(String token) {
        ApiClient client = new ApiClient();
        client.updateBaseUri(System.getenv("SERVER_URL"));
        if (token != null) {
            client.setRequestInterceptor(request -> request.header("Authorization", "Bearer " + token));
        }
        return client;
    }

    private static Registration registration(String name) {
        String username = name + "-" + RUN;
        return new Registration().username(username).email(username + "@example.com").password(PASSWORD);
    }

    private static String nextCursor(ApiResponse<?> response) {
        List<String> links = response.getHeaders().getOrDefault("link", List.of());
        if (links.isEmpty()) {
            return null;
        }
        Matcher matcher = NEXT_PAGE.matcher(links.get(0));
        expect(matcher.find(), links);
        return matcher.group(1);
    }

    private static List<String> ids(List<SearchResult> results) {
        return results.stream().map(SearchResult::getSpaceId).toList();
    }

    private static void expectRecent(OffsetDateTime time) {
        expect(Duration.between(time, OffsetDateTime.now()).abs().toHours() < 1, time);
    }

    public static void main(String[] args) throws ApiException, IOException {
        ApiClient anyone = client(null);
        AuthApi auth = new AuthApi(anyone);
        SearchApi search = new SearchApi(anyone);

        // Register two users.
        Session authorSession = auth.register(registration("author"));
        expectEqual(authorSession.getTokenType(), System.getenv("TOKEN_TYPE"));
        expectEqual(authorSession.getExpiresIn(), 2_592_000);
        ApiClient author = client(authorSession.getAccessToken());
        ApiClient reader = client(auth.register(registration("reader")).getAccessToken());

        // Create three spaces.
        String tag = "c/c++ #1 50%? " + RUN;
        SpacesApi authorSpaces = new SpacesApi(author);
        List<String> titles = new ArrayList<>();
        List<String> newestFirst = new ArrayList<>();
        for (int number = 1; number <= 3; number++) {
            SpaceCreation creation = new SpaceCreation()
                    .title("Хлеб " + RUN + " " + number)
                    .description("Мука, вода, соль")
                    .visibility(Visibility.PUBLIC)
                    .tags(List.of(tag, "выпечка"));
            Space space = authorSpaces.createSpace(creation, null);
            expectEqual(space.getTitle(), creation.getTitle());
            expectEqual(space.getDescription(), creation.getDescription());
            expectEqual(space.getVisibility(), System.getenv("VISIBILITY"));
            expectEqual(space.getInvitationCode(), null);
            expectEqual(space.getTags().stream().map(Tag::getTagName).toList(), creation.getTags());
            expect(space.getTags().get(0).getTagId() >= 1, space);
            expectEqual(space.getParticipantCount(), 1L);
            expectEqual(space.getCreator().getUserId(), authorSession.getUserId());
            expectRecent(space.getCreatedAt());
            titles.add(space.getTitle());
            newestFirst.add(0, space.getSpaceId());
        }

        // Search by text, in two pages.
        String query = "хлеб " + RUN;
        ApiResponse<List<SearchResult>> page = search.searchSpacesWithHttpInfo(query, true, 2, null);
        expectEqual(page.getData().get(0).getTitle(), titles.get(2));
        List<String> found = new ArrayList<>(ids(page.getData()));
        expectEqual(found.size(), 2);
        String cursor = nextCursor(page);
        expect(cursor != null, page.getHeaders());
        page = search.searchSpacesWithHttpInfo(query, true, 2, cursor);
        found.addAll(ids(page.getData()));
        expectEqual(found, newestFirst);
        expectEqual(nextCursor(page), null);

        // Search by tag.
        expectEqual(ids(search.searchSpacesByTag(tag, null, null)), newestFirst);

        // List the author's spaces, in two pages.
        ParticipationPage firstSpaces = new SpacesApi(author).listParticipations(2, null, null);
        expectEqual(firstSpaces.getItems().size(), 2);
        expect(firstSpaces.getNextCursor() != null, firstSpaces);
        ParticipationPage lastSpaces = new SpacesApi(author).listParticipations(2, firstSpaces.getNextCursor(), null);
        expectEqual(lastSpaces.getNextCursor(), null);
        expectEqual(lastSpaces.getItems().size(), 1);
        expectEqual(lastSpaces.getItems().get(0).getSpace().getSpaceId(), newestFirst.get(2));

        // Join without a body, and send a message. The client sends null.
        String spaceId = newestFirst.get(2);
        MessagesApi readerMessages = new MessagesApi(reader);
        MessageCreation early = new MessageCreation().spaceId(spaceId).text("Привет");
        expectProblem(403, "not_a_participant", () -> readerMessages.sendMessage(early, null));
        Participation participation = new SpacesApi(reader).joinSpace(spaceId, null);
        expectEqual(participation.getSpace().getSpaceId(), spaceId);
        expectEqual(participation.getSpace().getParticipantCount(), 2L);
        expectRecent(participation.getJoinedAt());
        String text = "Привет, мир! 👋\nДва";
        MessageCreation messageCreation = new MessageCreation().spaceId(spaceId).text(text);
        String key = "idempotency-key-" + RUN;
        Message message = readerMessages.sendMessage(messageCreation, key);
        expectEqual(readerMessages.sendMessage(messageCreation, key).getMessageId(), message.getMessageId());
        expectEqual(message.getText(), text);
        expectEqual(message.getWordCount(), 3L);
        expectEqual(message.getAppreciationCount(), 0L);
        expectEqual(message.getAuthor().getUsername(), "reader-" + RUN);

        // Appreciate the message.
        String messageId = message.getMessageId();
        Message appreciated = new MessagesApi(author).appreciateMessage(messageId);
        expectEqual(appreciated.getAppreciationCount(), 1L);
        expectProblem(403, "own_message", () -> readerMessages.appreciateMessage(messageId));
        MessagesApi anyMessages = new MessagesApi(anyone);
        MessagePage messagePage = anyMessages.listMessages(spaceId, null, null, null, null, null, null);
        List<Message> messages = messagePage.getItems();
        expectEqual(messages.size(), 1);
        expectEqual(messages.get(0).getMessageId(), messageId);
        expectEqual(messages.get(0).getAppreciationCount(), 1L);

        // Answer the message, and list the answer.
        MessageCreation reply = new MessageCreation().spaceId(spaceId).text("Три").replyTo(messageId);
        Message answer = readerMessages.sendMessage(reply, null);
        expectEqual(answer.getIsReply(), true);
        expectEqual(answer.getReplyTo().getMessageId(), messageId);
        List<Message> newer = anyMessages
                .listMessages(spaceId, null, null, null, null, messagePage.getNewerCursor(), 25)
                .getItems();
        expectEqual(newer.stream().map(Message::getMessageId).toList(), List.of(answer.getMessageId()));

        // Edit the answer.
        MessageEdit edit = new MessageEdit().text("Три и четыре");
        Message edited = readerMessages.editMessage(answer.getMessageId(), edit, null, null);
        expectEqual(edited.getText(), "Три и четыре");
        expectEqual(edited.getWordCount(), 3L);
        expectRecent(edited.getEditedAt());

        // Read a profile with large numbers.
        Credentials veteranCredentials = new Credentials().email("veteran@example.com").password(PASSWORD);
        ApiClient veteran = client(auth.login(veteranCredentials).getAccessToken());
        Profile veteranProfile = new ProfileApi(veteran).getProfile();
        expectEqual(veteranProfile.getStats().getTotalWordsContributed(), 16_777_217L);
        expectEqual(veteranProfile.getIsVerified(), true);
        expectEqual(veteranProfile.getEmail(), "veteran@example.com");

        // End a session.
        AuthApi veteranAuth = new AuthApi(veteran);
        SessionSummary session = veteranAuth.listSessions(null, null).getItems().get(0);
        expectEqual(session.getIsCurrent(), true);
        veteranAuth.endSession(session.getSessionId());
        expectProblem(401, "unauthenticated", () -> new ProfileApi(veteran).getProfile());

        // Change the username and the bio.
        ProfileApi authorProfile = new ProfileApi(author);
        UsernameChange taken = new UsernameChange().username("reader-" + RUN);
        Problem conflict = expectProblem(409, "username_taken", () -> authorProfile.changeUsername(taken));
        expectEqual(conflict.getErrors().size(), 1);
        expectEqual(conflict.getErrors().get(0).getPointer(), "/username");
        String username = "author." + RUN;
        String confirmation = authorProfile.changeUsername(new UsernameChange().username(username)).getMessage();
        expect(confirmation.contains(username), confirmation);
        String bio = "Пеку по воскресеньям.\nСпорю о запятых.";
        authorProfile.changeBio(new BioChange().bio(bio));
        Profile profile = authorProfile.getProfile();
        expectEqual(profile.getUsername(), username);
        expectEqual(profile.getBio(), bio);
        expectEqual(profile.getStats().getSpacesCreated(), 3L);

        // Upload an avatar. The client sends the name of the file.
        File avatar = new File(System.getenv("AVATAR_FILE"));
        var picture = authorProfile.changeProfilePicture(avatar).getProfilePicture();
        expect(!picture.equals(profile.getProfilePicture()), picture);
        expectEqual(authorProfile.getProfile().getProfilePicture(), picture);
        Path tooLarge = Files.createTempFile("avatar", ".png");
        try {
            Files.write(tooLarge, new byte[MAX_AVATAR_BYTES + 1]);
            expectProblem(413, "avatar_too_large", () -> authorProfile.changeProfilePicture(tooLarge.toFile()));
        } finally {
            Files.delete(tooLarge);
        }

        // Change the password.
        PasswordChange wrong =
                new PasswordChange().currentPassword("not my password").newPassword(NEW_PASSWORD);
        expectProblem(403, "current_password_incorrect", () -> authorProfile.changePassword(wrong));
        authorProfile.changePassword(new PasswordChange().currentPassword(PASSWORD).newPassword(NEW_PASSWORD));
        Credentials oldCredentials =
                new Credentials().email("author-" + RUN + "@example.com").password(PASSWORD);
        expectProblem(401, "credentials_incorrect", () -> auth.login(oldCredentials));

        // Read what the server offers, and use an unknown token of a mail.
        Server server = new ServerApi(anyone).getServer();
        expectEqual(server.getSendsMail(), true);
        expectEqual(server.getLimits().getMaxAvatarBytes(), (long) MAX_AVATAR_BYTES);
        auth.requestPasswordReset(new PasswordResetRequest().email(oldCredentials.getEmail()));
        PasswordReset reset = new PasswordReset().token("unknown").newPassword(NEW_PASSWORD);
        expectProblem(400, "invalid_token", () -> auth.resetPassword(reset));
        EmailVerification verification = new EmailVerification().token("unknown");
        expectProblem(400, "invalid_token", () -> auth.verifyEmail(verification));

        // Delete the accounts.
        for (ApiClient user : List.of(author, reader)) {
            ProfileApi userProfile = new ProfileApi(user);
            userProfile.deleteAccount();
            expectProblem(401, "unauthenticated", userProfile::getProfile);
        }
        expectEqual(search.searchSpacesByTag(tag, null, null), List.of());
    }
}
