// Uses every important operation with the generated client. See ../README.md for the steps.
import java.io.File
import java.time.Duration
import java.time.OffsetDateTime
import org.openapitools.client.apis.AuthApi
import org.openapitools.client.apis.MessagesApi
import org.openapitools.client.apis.ProfileApi
import org.openapitools.client.apis.SearchApi
import org.openapitools.client.apis.ServerApi
import org.openapitools.client.apis.SpacesApi
import org.openapitools.client.infrastructure.ApiClient
import org.openapitools.client.infrastructure.ApiResponse
import org.openapitools.client.infrastructure.ClientError
import org.openapitools.client.infrastructure.ClientException
import org.openapitools.client.infrastructure.Serializer
import org.openapitools.client.infrastructure.Success
import org.openapitools.client.models.BioChange
import org.openapitools.client.models.Credentials
import org.openapitools.client.models.EmailVerification
import org.openapitools.client.models.MessageCreation
import org.openapitools.client.models.MessageEdit
import org.openapitools.client.models.PasswordChange
import org.openapitools.client.models.PasswordReset
import org.openapitools.client.models.PasswordResetRequest
import org.openapitools.client.models.Problem
import org.openapitools.client.models.Registration
import org.openapitools.client.models.SearchResult
import org.openapitools.client.models.Session
import org.openapitools.client.models.SpaceCreation
import org.openapitools.client.models.UsernameChange
import org.openapitools.client.models.Visibility

const val PASSWORD = "correct horse battery"
const val NEW_PASSWORD = "staple of the north wind"
const val MAX_AVATAR_BYTES = 5_242_880

val serverUrl: String = System.getenv("SERVER_URL")
val run: String = System.getenv("RUN")
val nextPage = Regex("""<[^>]*[?&]cursor=([\w-]+)[^>]*>; rel="next"""")

fun expect(isTrue: Boolean, value: Any?) {
    if (!isTrue) throw AssertionError(value)
}

fun expectEqual(actual: Any?, expected: Any?) = expect(actual == expected, "$actual instead of $expected")

fun expectProblem(status: Int, code: String, request: () -> Any): Problem {
    val response =
        try {
            throw AssertionError("${request()} instead of $code")
        } catch (exception: ClientException) {
            expectEqual(exception.statusCode, status)
            exception.response as ClientError<*>
        }
    val problem = checkNotNull(Serializer.moshi.adapter(Problem::class.java).fromJson(response.body as String))
    expectEqual(listOf(problem.status, problem.code), listOf(status, code))
    expect(problem.detail.isNotEmpty() && problem.requestId.isNotEmpty(), problem)
    return problem
}

fun <T : ApiClient> T.signedIn(session: Session): T = apply { accessTokenProvider = { session.accessToken } }

fun registration(name: String) =
    Registration(username = "$name-$run", email = "$name-$run@example.com", password = PASSWORD)

fun dataOf(response: ApiResponse<List<SearchResult>?>): List<SearchResult> =
    checkNotNull((response as Success<List<SearchResult>?>).data)

fun nextCursor(response: ApiResponse<*>): String? =
    response.headers["link"]?.first()?.let { checkNotNull(nextPage.find(it)).groupValues[1] }

fun expectRecent(time: OffsetDateTime) =
    expect(Duration.between(time, OffsetDateTime.now()).abs() < Duration.ofHours(1), time)

fun main() {
    val auth = AuthApi(serverUrl)
    val search = SearchApi(serverUrl)

    // Register two users.
    val author = auth.register(registration("author"))
    expectEqual(author.tokenType, System.getenv("TOKEN_TYPE"))
    expectEqual(author.expiresIn, 2_592_000)
    val reader = auth.register(registration("reader"))

    // Create three spaces.
    val tag = "c/c++ #1 50%? $run"
    val spaces =
        (1..3).map { number ->
            val creation =
                SpaceCreation(
                    title = "Хлеб $run $number",
                    description = "Мука, вода, соль",
                    visibility = Visibility.`public`,
                    tags = listOf(tag, "выпечка"),
                )
            val space = SpacesApi(serverUrl).signedIn(author).createSpace(creation)
            expectEqual(listOf(space.title, space.description), listOf(creation.title, creation.description))
            expectEqual(listOf(space.visibility, space.invitationCode), listOf(System.getenv("VISIBILITY"), null))
            expectEqual(space.tags.map { it.tagName }, creation.tags)
            expect(space.tags[0].tagId >= 1, space)
            expectEqual(space.participantCount, 1L)
            expectEqual(space.creator.userId, author.userId)
            expectRecent(space.createdAt)
            space
        }
    val newestFirst = spaces.map { it.spaceId }.reversed()

    // Search by text, in two pages.
    val query = "хлеб $run"
    val first = search.searchSpacesWithHttpInfo(q = query, asTyped = true, limit = 2, cursor = null)
    var found = dataOf(first)
    expectEqual(found.size, 2)
    expectEqual(found[0].title, spaces[2].title)
    val cursor = checkNotNull(nextCursor(first))
    val second = search.searchSpacesWithHttpInfo(q = query, asTyped = true, limit = 2, cursor = cursor)
    found = found + dataOf(second)
    expectEqual(found.map { it.spaceId }, newestFirst)
    expectEqual(nextCursor(second), null)

    // Search by tag.
    expectEqual(search.searchSpacesByTag(tag).map { it.spaceId }, newestFirst)

    // List the author's spaces, in two pages.
    val authorSpaces = SpacesApi(serverUrl).signedIn(author)
    val firstSpaces = authorSpaces.listParticipations(limit = 2)
    expectEqual(firstSpaces.items.size, 2)
    val lastSpaces = authorSpaces.listParticipations(limit = 2, cursor = checkNotNull(firstSpaces.nextCursor))
    expectEqual(lastSpaces.items.map { it.space.spaceId } to lastSpaces.nextCursor, newestFirst.drop(2) to null)

    // Join without a body, and send a message.
    val spaceId = spaces[0].spaceId
    val readerMessages = MessagesApi(serverUrl).signedIn(reader)
    expectProblem(403, "not_a_participant") { readerMessages.sendMessage(MessageCreation(spaceId, "Привет")) }
    val participation = SpacesApi(serverUrl).signedIn(reader).joinSpace(spaceId)
    expectEqual(participation.space.spaceId, spaceId)
    expectEqual(participation.space.participantCount, 2L)
    expectRecent(participation.joinedAt)
    val text = "Привет, мир! 👋\nДва"
    val key = "idempotency-key-$run"
    val message = readerMessages.sendMessage(MessageCreation(spaceId, text), key)
    expectEqual(readerMessages.sendMessage(MessageCreation(spaceId, text), key).messageId, message.messageId)
    expectEqual(message.text, text)
    expectEqual(listOf(message.wordCount, message.appreciationCount), listOf(3L, 0L))
    expectEqual(message.author.username, "reader-$run")

    // Appreciate the message.
    val appreciated = MessagesApi(serverUrl).signedIn(author).appreciateMessage(message.messageId)
    expectEqual(appreciated.appreciationCount, 1L)
    expectProblem(403, "own_message") { readerMessages.appreciateMessage(message.messageId) }
    val page = MessagesApi(serverUrl).listMessages(spaceId)
    expectEqual(page.items.map { it.messageId to it.appreciationCount }, listOf(message.messageId to 1L))

    // Answer the message, and list the answer.
    val answer = readerMessages.sendMessage(MessageCreation(spaceId, "Три", message.messageId))
    expectEqual(answer.isReply to answer.replyTo?.messageId, true to message.messageId)
    val newer = MessagesApi(serverUrl).listMessages(spaceId, after = page.newerCursor, wait = 25)
    expectEqual(newer.items.map { it.messageId }, listOf(answer.messageId))

    // Edit the answer.
    val edited = readerMessages.editMessage(answer.messageId, MessageEdit("Три и четыре"))
    expectEqual(edited.text to edited.wordCount, "Три и четыре" to 3L)
    expectRecent(checkNotNull(edited.editedAt))

    // Read a profile with large numbers.
    val veteran = auth.login(Credentials("veteran@example.com", PASSWORD))
    val veteranProfile = ProfileApi(serverUrl).signedIn(veteran).getProfile()
    expectEqual(veteranProfile.stats.totalWordsContributed, 16_777_217L)
    expectEqual(veteranProfile.isVerified, true)
    expectEqual(veteranProfile.email, "veteran@example.com")

    // End a session.
    val veteranAuth = AuthApi(serverUrl).signedIn(veteran)
    val session = veteranAuth.listSessions().items.first()
    expectEqual(session.isCurrent, true)
    veteranAuth.endSession(session.sessionId)
    expectProblem(401, "unauthenticated") { ProfileApi(serverUrl).signedIn(veteran).getProfile() }

    // Change the username and the bio.
    val authorProfile = ProfileApi(serverUrl).signedIn(author)
    val conflict = expectProblem(409, "username_taken") { authorProfile.changeUsername(UsernameChange("reader-$run")) }
    expectEqual(conflict.errors.map { it.pointer }, listOf("/username"))
    val username = "author.$run"
    val confirmation = authorProfile.changeUsername(UsernameChange(username))
    expect(username in confirmation.message, confirmation)
    val bio = "Пеку по воскресеньям.\nСпорю о запятых."
    authorProfile.changeBio(BioChange(bio))
    val profile = authorProfile.getProfile()
    expectEqual(listOf(profile.username, profile.bio), listOf(username, bio))
    expectEqual(profile.stats.spacesCreated, 3L)

    // Upload an avatar. The client sends the name of the file.
    val picture = authorProfile.changeProfilePicture(File(System.getenv("AVATAR_FILE"))).profilePicture
    expect(picture != profile.profilePicture, picture)
    expectEqual(authorProfile.getProfile().profilePicture, picture)
    val tooLarge = File.createTempFile("avatar", ".png")
    try {
        tooLarge.writeBytes(ByteArray(MAX_AVATAR_BYTES + 1))
        expectProblem(413, "avatar_too_large") { authorProfile.changeProfilePicture(tooLarge) }
    } finally {
        tooLarge.delete()
    }

    // Change the password.
    val wrong = PasswordChange(currentPassword = "not my password", newPassword = NEW_PASSWORD)
    expectProblem(403, "current_password_incorrect") { authorProfile.changePassword(wrong) }
    authorProfile.changePassword(PasswordChange(currentPassword = PASSWORD, newPassword = NEW_PASSWORD))
    expectProblem(401, "credentials_incorrect") { auth.login(Credentials("author-$run@example.com", PASSWORD)) }

    // Read what the server offers, and use an unknown token of a mail.
    val server = ServerApi(serverUrl).getServer()
    expectEqual(listOf(server.sendsMail, server.limits.maxAvatarBytes), listOf(true, MAX_AVATAR_BYTES.toLong()))
    auth.requestPasswordReset(PasswordResetRequest("author-$run@example.com"))
    expectProblem(400, "invalid_token") { auth.resetPassword(PasswordReset("unknown", NEW_PASSWORD)) }
    expectProblem(400, "invalid_token") { auth.verifyEmail(EmailVerification("unknown")) }

    // Delete the accounts.
    for (user in listOf(author, reader)) {
        val userProfile = ProfileApi(serverUrl).signedIn(user)
        userProfile.deleteAccount()
        expectProblem(401, "unauthenticated") { userProfile.getProfile() }
    }
    expectEqual(search.searchSpacesByTag(tag), listOf<SearchResult>())
}
