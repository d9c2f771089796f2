// Uses every important operation with the generated client. See ../README.md for the steps.
package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	api "example.com/journey/spaceservice"
)

const (
	password       = "correct horse battery"
	newPassword    = "staple of the north wind"
	maxAvatarBytes = 5_242_880
)

var (
	serverURL = os.Getenv("SERVER_URL")
	run       = os.Getenv("RUN")
	ctx       = context.Background()
)

var nextPage = regexp.MustCompile(`<[^>]*[?&]cursor=([\w-]+)[^>]*>; rel="next"`)

func expect(isTrue bool, what string, values ...any) {
	if !isTrue {
		panic(fmt.Sprintf("%s: %v", what, values))
	}
}

func unwrap[T any](response T, err error) T {
	if err != nil {
		panic(err)
	}
	return response
}

// value returns the parsed body of a successful response. After any other response, parsed is nil and body has its
// bytes.
func value[T any](parsed *T, body []byte) T {
	expect(parsed != nil, "unexpected response", string(body))
	return *parsed
}

func expectProblem(problem *api.Problem, body []byte, status int32, code string) api.Problem {
	found := value(problem, body)
	expect(found.Status == status && found.Code == code, "problem", string(body))
	expect(found.Detail != "" && found.RequestId != "", "problem", string(body))
	return found
}

func nextCursor(link *string) *string {
	if link == nil {
		return nil
	}
	match := nextPage.FindStringSubmatch(*link)
	expect(match != nil, "Link", *link)
	return &match[1]
}

func newClient(token string) *api.ClientWithResponses {
	return unwrap(api.NewClientWithResponses(serverURL, api.WithRequestEditorFn(
		func(_ context.Context, request *http.Request) error {
			if token != "" {
				request.Header.Set("Authorization", "Bearer "+token)
			}
			return nil
		})))
}

func registration(name string) api.Registration {
	name = name + "-" + run
	return api.Registration{Username: name, Email: name + "@example.com", Password: password}
}

func ids(results []api.SearchResult) []string {
	var found []string
	for _, each := range results {
		found = append(found, each.SpaceId)
	}
	return found
}

func isRecent(moment time.Time) bool {
	return time.Since(moment).Abs() < time.Hour
}

// avatarForm returns a form and its content type. An empty fileName is left out.
func avatarForm(avatar []byte, fileName string) (string, io.Reader) {
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	header := textproto.MIMEHeader{}
	disposition := `form-data; name="avatar"`
	if fileName != "" {
		disposition += `; filename="` + fileName + `"`
	}
	header.Set("Content-Disposition", disposition)
	part := unwrap(form.CreatePart(header))
	unwrap(part.Write(avatar))
	if err := form.Close(); err != nil {
		panic(err)
	}
	return form.FormDataContentType(), &body
}

func main() {
	anyone := newClient("")

	// Register two users.
	registered := unwrap(anyone.RegisterWithResponse(ctx, registration("author")))
	authorSession := value(registered.JSON201, registered.Body)
	expect(authorSession.TokenType == os.Getenv("TOKEN_TYPE") && authorSession.ExpiresIn == 2_592_000, "session", authorSession)
	author := newClient(authorSession.AccessToken)
	registered = unwrap(anyone.RegisterWithResponse(ctx, registration("reader")))
	reader := newClient(value(registered.JSON201, registered.Body).AccessToken)

	// Create three spaces.
	tag := "c/c++ #1 50%? " + run
	var titles, newestFirst []string
	for number := 1; number <= 3; number++ {
		creation := api.SpaceCreation{
			Title:       fmt.Sprintf("Хлеб %s %d", run, number),
			Description: "Мука, вода, соль",
			Visibility:  api.Public,
			Tags:        []string{tag, "выпечка"},
		}
		created := unwrap(author.CreateSpaceWithResponse(ctx, nil, creation))
		space := value(created.JSON201, created.Body)
		expect(space.Title == creation.Title && space.Description == creation.Description, "space", space)
		expect(space.Visibility == os.Getenv("VISIBILITY") && space.InvitationCode == nil, "space", space)
		expect(len(space.Tags) == 2 && space.Tags[0].TagName == tag && space.Tags[0].TagId >= 1, "space", space)
		expect(space.ParticipantCount == 1 && space.Creator.UserId == authorSession.UserId, "space", space)
		expect(isRecent(space.CreatedAt), "space", space)
		titles = append(titles, space.Title)
		newestFirst = append([]string{space.SpaceId}, newestFirst...)
	}

	// Search by text, in two pages.
	limit := int32(2)
	asTyped := true
	search := api.SearchSpacesParams{Q: "хлеб " + run, AsTyped: &asTyped, Limit: &limit}
	page := unwrap(anyone.SearchSpacesWithResponse(ctx, &search))
	found := value(page.JSON200, page.Body)
	expect(len(found) == 2 && found[0].Title == titles[2], "first page", found)
	search.Cursor = nextCursor(page.Headers200.Link)
	expect(search.Cursor != nil, "Link is missing")
	page = unwrap(anyone.SearchSpacesWithResponse(ctx, &search))
	found = append(found, value(page.JSON200, page.Body)...)
	expect(slices.Equal(ids(found), newestFirst), "search by text", found)
	expect(nextCursor(page.Headers200.Link) == nil, "Link of the last page")

	// Search by tag.
	tagged := unwrap(anyone.SearchSpacesByTagWithResponse(ctx, tag, nil))
	expect(slices.Equal(ids(value(tagged.JSON200, tagged.Body)), newestFirst), "search by tag", string(tagged.Body))

	// List the author's spaces, in two pages.
	list := api.ListParticipationsParams{Limit: &limit}
	spacesPage := unwrap(author.ListParticipationsWithResponse(ctx, &list))
	firstSpaces := value(spacesPage.JSON200, spacesPage.Body)
	expect(len(firstSpaces.Items) == 2 && firstSpaces.NextCursor != nil, "first page", firstSpaces)
	list.Cursor = firstSpaces.NextCursor
	spacesPage = unwrap(author.ListParticipationsWithResponse(ctx, &list))
	lastSpaces := value(spacesPage.JSON200, spacesPage.Body)
	expect(len(lastSpaces.Items) == 1 && lastSpaces.NextCursor == nil, "last page", lastSpaces)
	expect(lastSpaces.Items[0].Space.SpaceId == newestFirst[2], "last page", lastSpaces)

	// Join without a body, and send a message.
	spaceID := newestFirst[2]
	sent := unwrap(reader.SendMessageWithResponse(ctx, nil, api.MessageCreation{SpaceId: spaceID, Text: "Привет"}))
	expectProblem(sent.ApplicationproblemJSON403, sent.Body, 403, "not_a_participant")
	joined := unwrap(reader.JoinSpaceWithBodyWithResponse(ctx, spaceID, "application/json", http.NoBody))
	participation := value(joined.JSON200, joined.Body)
	expect(participation.Space.SpaceId == spaceID, "participation", participation)
	expect(participation.Space.ParticipantCount == 2 && isRecent(participation.JoinedAt), "participation", participation)
	text := "Привет, мир! 👋\nДва"
	key := "idempotency-key-" + run
	sending := api.SendMessageParams{IdempotencyKey: &key}
	sent = unwrap(reader.SendMessageWithResponse(ctx, &sending, api.MessageCreation{SpaceId: spaceID, Text: text}))
	message := value(sent.JSON201, sent.Body)
	sent = unwrap(reader.SendMessageWithResponse(ctx, &sending, api.MessageCreation{SpaceId: spaceID, Text: text}))
	expect(value(sent.JSON201, sent.Body).MessageId == message.MessageId, "message", string(sent.Body))
	expect(message.Text == text && message.WordCount == 3 && message.AppreciationCount == 0, "message", message)
	expect(message.Author.Username == "reader-"+run, "message", message)

	// Appreciate the message.
	appreciated := unwrap(author.AppreciateMessageWithResponse(ctx, message.MessageId))
	expect(value(appreciated.JSON200, appreciated.Body).AppreciationCount == 1, "message", string(appreciated.Body))
	appreciated = unwrap(reader.AppreciateMessageWithResponse(ctx, message.MessageId))
	expectProblem(appreciated.ApplicationproblemJSON403, appreciated.Body, 403, "own_message")
	listed := unwrap(anyone.ListMessagesWithResponse(ctx, &api.ListMessagesParams{SpaceId: spaceID}))
	messagePage := value(listed.JSON200, listed.Body)
	messages := messagePage.Items
	expect(len(messages) == 1 && messages[0].MessageId == message.MessageId, "messages", messages)
	expect(messages[0].AppreciationCount == 1, "messages", messages)

	// Answer the message, and list the answer.
	reply := api.MessageCreation{SpaceId: spaceID, Text: "Три", ReplyTo: &message.MessageId}
	sent = unwrap(reader.SendMessageWithResponse(ctx, nil, reply))
	answer := value(sent.JSON201, sent.Body)
	expect(answer.IsReply && answer.ReplyTo.MessageId == message.MessageId, "answer", answer)
	wait := int32(25)
	newer := api.ListMessagesParams{SpaceId: spaceID, After: &messagePage.NewerCursor, Wait: &wait}
	listed = unwrap(anyone.ListMessagesWithResponse(ctx, &newer))
	messages = value(listed.JSON200, listed.Body).Items
	expect(len(messages) == 1 && messages[0].MessageId == answer.MessageId, "messages", messages)

	// Edit the answer.
	editing := api.MessageEdit{Text: "Три и четыре"}
	edited := unwrap(reader.EditMessageWithResponse(ctx, answer.MessageId, nil, editing))
	answer = value(edited.JSON200, edited.Body)
	expect(answer.Text == editing.Text && answer.WordCount == 3 && isRecent(*answer.EditedAt), "answer", answer)

	// Read a profile with large numbers.
	veteranCredentials := api.Credentials{Email: "veteran@example.com", Password: password}
	loggedIn := unwrap(anyone.LoginWithResponse(ctx, veteranCredentials))
	veteran := newClient(value(loggedIn.JSON200, loggedIn.Body).AccessToken)
	read := unwrap(veteran.GetProfileWithResponse(ctx))
	profile := value(read.JSON200, read.Body)
	expect(profile.Stats.TotalWordsContributed == 16_777_217, "profile", profile)
	expect(profile.IsVerified && profile.Email == "veteran@example.com", "profile", profile)

	// End a session.
	sessions := unwrap(veteran.ListSessionsWithResponse(ctx, nil))
	session := value(sessions.JSON200, sessions.Body).Items[0]
	expect(session.IsCurrent, "session", session)
	ended := unwrap(veteran.EndSessionWithResponse(ctx, session.SessionId))
	value(ended.JSON200, ended.Body)
	read = unwrap(veteran.GetProfileWithResponse(ctx))
	expectProblem(read.ApplicationproblemJSON401, read.Body, 401, "unauthenticated")

	// Change the username and the bio.
	renamed := unwrap(author.ChangeUsernameWithResponse(ctx, api.UsernameChange{Username: "reader-" + run}))
	conflict := expectProblem(renamed.ApplicationproblemJSON409, renamed.Body, 409, "username_taken")
	expect(len(conflict.Errors) == 1 && *conflict.Errors[0].Pointer == "/username", "problem", conflict)
	username := "author." + run
	renamed = unwrap(author.ChangeUsernameWithResponse(ctx, api.UsernameChange{Username: username}))
	expect(strings.Contains(value(renamed.JSON200, renamed.Body).Message, username), "confirmation", string(renamed.Body))
	bio := "Пеку по воскресеньям.\nСпорю о запятых."
	changedBio := unwrap(author.ChangeBioWithResponse(ctx, api.BioChange{Bio: bio}))
	value(changedBio.JSON200, changedBio.Body)
	read = unwrap(author.GetProfileWithResponse(ctx))
	profile = value(read.JSON200, read.Body)
	expect(profile.Username == username && profile.Bio == bio && profile.Stats.SpacesCreated == 3, "profile", profile)

	// Upload an avatar with and without a file name.
	avatar := unwrap(os.ReadFile(os.Getenv("AVATAR_FILE")))
	pictures := []string{profile.ProfilePicture}
	for _, fileName := range []string{"avatar.png", ""} {
		contentType, form := avatarForm(avatar, fileName)
		uploaded := unwrap(author.ChangeProfilePictureWithBodyWithResponse(ctx, contentType, form))
		picture := value(uploaded.JSON200, uploaded.Body).ProfilePicture
		expect(!slices.Contains(pictures, picture), "the URL is not new", picture)
		pictures = append(pictures, picture)
		read = unwrap(author.GetProfileWithResponse(ctx))
		expect(value(read.JSON200, read.Body).ProfilePicture == picture, "profile", string(read.Body))
	}
	contentType, form := avatarForm(make([]byte, maxAvatarBytes+1), "avatar.png")
	uploaded := unwrap(author.ChangeProfilePictureWithBodyWithResponse(ctx, contentType, form))
	expectProblem(uploaded.ApplicationproblemJSON413, uploaded.Body, 413, "avatar_too_large")

	// Change the password.
	wrong := api.PasswordChange{CurrentPassword: "not my password", NewPassword: newPassword}
	changed := unwrap(author.ChangePasswordWithResponse(ctx, wrong))
	expectProblem(changed.ApplicationproblemJSON403, changed.Body, 403, "current_password_incorrect")
	right := api.PasswordChange{CurrentPassword: password, NewPassword: newPassword}
	changed = unwrap(author.ChangePasswordWithResponse(ctx, right))
	value(changed.JSON200, changed.Body)
	oldCredentials := api.Credentials{Email: "author-" + run + "@example.com", Password: password}
	loggedIn = unwrap(anyone.LoginWithResponse(ctx, oldCredentials))
	expectProblem(loggedIn.ApplicationproblemJSON401, loggedIn.Body, 401, "credentials_incorrect")

	// Read what the server offers, and use an unknown token of a mail.
	offered := unwrap(anyone.GetServerWithResponse(ctx))
	server := value(offered.JSON200, offered.Body)
	expect(server.SendsMail && server.Limits.MaxAvatarBytes == maxAvatarBytes, "server", server)
	requested := unwrap(anyone.RequestPasswordResetWithResponse(ctx, api.PasswordResetRequest{Email: oldCredentials.Email}))
	value(requested.JSON202, requested.Body)
	reset := unwrap(anyone.ResetPasswordWithResponse(ctx, api.PasswordReset{Token: "unknown", NewPassword: newPassword}))
	expectProblem(reset.ApplicationproblemJSON400, reset.Body, 400, "invalid_token")
	verified := unwrap(anyone.VerifyEmailWithResponse(ctx, api.EmailVerification{Token: "unknown"}))
	expectProblem(verified.ApplicationproblemJSON400, verified.Body, 400, "invalid_token")

	// Delete the accounts.
	for _, user := range []*api.ClientWithResponses{author, reader} {
		deleted := unwrap(user.DeleteAccountWithResponse(ctx))
		value(deleted.JSON200, deleted.Body)
		read = unwrap(user.GetProfileWithResponse(ctx))
		expectProblem(read.ApplicationproblemJSON401, read.Body, 401, "unauthenticated")
	}
	tagged = unwrap(anyone.SearchSpacesByTagWithResponse(ctx, tag, nil))
	left := value(tagged.JSON200, tagged.Body)
	expect(len(left) == 0, "spaces of a deleted account", left)
}
