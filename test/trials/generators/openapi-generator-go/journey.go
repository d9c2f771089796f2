// Uses every important operation with the generated client. See ../README.md for the steps.
package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
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

var run = os.Getenv("RUN")

var nextPage = regexp.MustCompile(`<[^>]*[?&]cursor=([\w-]+)[^>]*>; rel="next"`)

func expect(isTrue bool, what string, values ...any) {
	if !isTrue {
		panic(fmt.Sprintf("%s: %+v", what, values))
	}
}

// value returns the body of a successful response.
func value[T any](parsed T, response *http.Response, err error) T {
	if failure, ok := errors.AsType[*api.GenericOpenAPIError](err); ok {
		panic(fmt.Sprintf("%v: %s", err, failure.Body()))
	}
	if err != nil {
		panic(err)
	}
	expect(response.StatusCode < 300, "status", response.Status)
	return parsed
}

func expectProblem[T any](_ T, response *http.Response, err error) func(status int, code string) api.Problem {
	return func(status int, code string) api.Problem {
		failure, ok := errors.AsType[*api.GenericOpenAPIError](err)
		expect(ok, "error", err)
		problem, ok := failure.Model().(api.Problem)
		expect(ok, "model", string(failure.Body()))
		expect(response.StatusCode == status && int(problem.Status) == status, "status", problem)
		expect(problem.Code == code && problem.Detail != "" && problem.RequestId != "", "problem", problem)
		return problem
	}
}

func nextCursor(response *http.Response) string {
	match := nextPage.FindStringSubmatch(response.Header.Get("Link"))
	if match == nil {
		return ""
	}
	return match[1]
}

func signedIn(session *api.Session) context.Context {
	return context.WithValue(context.Background(), api.ContextAccessToken, session.AccessToken)
}

func registration(name string) api.Registration {
	name = name + "-" + run
	return *api.NewRegistration(name, name+"@example.com", password)
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

func open(path string) *os.File {
	file, err := os.Open(path)
	expect(err == nil, "open", err)
	return file
}

func main() {
	configuration := api.NewConfiguration()
	configuration.Servers = api.ServerConfigurations{{URL: os.Getenv("SERVER_URL")}}
	client := api.NewAPIClient(configuration)
	anyone := context.Background()

	// Register two users.
	authorSession := value(client.AuthAPI.Register(anyone).Registration(registration("author")).Execute())
	expect(authorSession.TokenType == os.Getenv("TOKEN_TYPE") && authorSession.ExpiresIn == 2_592_000, "session", authorSession)
	author := signedIn(authorSession)
	reader := signedIn(value(client.AuthAPI.Register(anyone).Registration(registration("reader")).Execute()))

	// Create three spaces.
	tag := "c/c++ #1 50%? " + run
	var titles, newestFirst []string
	for number := 1; number <= 3; number++ {
		creation := *api.NewSpaceCreation(
			fmt.Sprintf("Хлеб %s %d", run, number), "Мука, вода, соль", api.PUBLIC, []string{tag, "выпечка"})
		space := value(client.SpacesAPI.CreateSpace(author).SpaceCreation(creation).Execute())
		expect(space.Title == creation.Title && space.Description == creation.Description, "space", space)
		expect(space.Visibility == os.Getenv("VISIBILITY") && space.InvitationCode.Get() == nil, "space", space)
		expect(len(space.Tags) == 2 && space.Tags[0].TagName == tag && space.Tags[0].TagId >= 1, "space", space)
		expect(space.ParticipantCount == 1 && space.Creator.UserId == authorSession.UserId, "space", space)
		expect(isRecent(space.CreatedAt), "space", space)
		titles = append(titles, space.Title)
		newestFirst = append([]string{space.SpaceId}, newestFirst...)
	}

	// Search by text, in two pages.
	search := client.SearchAPI.SearchSpaces(anyone).Q("хлеб " + run).AsTyped(true).Limit(2)
	found, response, err := search.Execute()
	value(found, response, err)
	expect(len(found) == 2 && found[0].Title == titles[2], "first page", found)
	cursor := nextCursor(response)
	expect(cursor != "", "Link", response.Header)
	rest, response, err := search.Cursor(cursor).Execute()
	found = append(found, value(rest, response, err)...)
	expect(slices.Equal(ids(found), newestFirst), "search by text", found)
	expect(nextCursor(response) == "", "Link", response.Header)

	// Search by tag.
	tagged := value(client.SearchAPI.SearchSpacesByTag(anyone, tag).Execute())
	expect(slices.Equal(ids(tagged), newestFirst), "search by tag", tagged)

	// List the author's spaces, in two pages.
	list := client.SpacesAPI.ListParticipations(author).Limit(2)
	firstSpaces := value(list.Execute())
	expect(len(firstSpaces.Items) == 2 && firstSpaces.NextCursor.Get() != nil, "first page", firstSpaces)
	lastSpaces := value(list.Cursor(*firstSpaces.NextCursor.Get()).Execute())
	expect(len(lastSpaces.Items) == 1 && lastSpaces.NextCursor.Get() == nil, "last page", lastSpaces)
	expect(lastSpaces.Items[0].Space.SpaceId == newestFirst[2], "last page", lastSpaces)

	// Join without a body, and send a message.
	spaceID := newestFirst[2]
	early := *api.NewMessageCreation(spaceID, "Привет")
	expectProblem(client.MessagesAPI.SendMessage(reader).MessageCreation(early).Execute())(403, "not_a_participant")
	participation := value(client.SpacesAPI.JoinSpace(reader, spaceID).Execute())
	expect(participation.Space.SpaceId == spaceID, "participation", participation)
	expect(participation.Space.ParticipantCount == 2 && isRecent(participation.JoinedAt), "participation", participation)
	text := "Привет, мир! 👋\nДва"
	creation := *api.NewMessageCreation(spaceID, text)
	sending := client.MessagesAPI.SendMessage(reader).IdempotencyKey("idempotency-key-" + run).MessageCreation(creation)
	message := value(sending.Execute())
	expect(value(sending.Execute()).MessageId == message.MessageId, "message", message)
	expect(message.Text == text && message.WordCount == 3 && message.AppreciationCount == 0, "message", message)
	expect(message.Author.Username == "reader-"+run, "message", message)

	// Appreciate the message.
	appreciated := value(client.MessagesAPI.AppreciateMessage(author, message.MessageId).Execute())
	expect(appreciated.AppreciationCount == 1, "message", appreciated)
	expectProblem(client.MessagesAPI.AppreciateMessage(reader, message.MessageId).Execute())(403, "own_message")
	listMessages := client.MessagesAPI.ListMessages(anyone).SpaceId(spaceID)
	messagePage := value(listMessages.Execute())
	messages := messagePage.Items
	expect(len(messages) == 1 && messages[0].MessageId == message.MessageId, "messages", messages)
	expect(messages[0].AppreciationCount == 1, "messages", messages)

	// Answer the message, and list the answer.
	reply := *api.NewMessageCreation(spaceID, "Три")
	reply.SetReplyTo(message.MessageId)
	answer := value(client.MessagesAPI.SendMessage(reader).MessageCreation(reply).Execute())
	original := answer.ReplyTo.Get()
	expect(answer.IsReply && original.MessageId == message.MessageId, "answer", answer)
	messages = value(listMessages.After(messagePage.NewerCursor).Wait(25).Execute()).Items
	expect(len(messages) == 1 && messages[0].MessageId == answer.MessageId, "messages", messages)

	// Edit the answer.
	edit := *api.NewMessageEdit("Три и четыре")
	edited := value(client.MessagesAPI.EditMessage(reader, answer.MessageId).MessageEdit(edit).Execute())
	expect(edited.Text == edit.Text && edited.WordCount == 3 && isRecent(*edited.EditedAt.Get()), "edited", edited)

	// Read a profile with large numbers.
	veteranCredentials := *api.NewCredentials("veteran@example.com", password)
	veteran := signedIn(value(client.AuthAPI.Login(anyone).Credentials(veteranCredentials).Execute()))
	profile := value(client.ProfileAPI.GetProfile(veteran).Execute())
	expect(profile.Stats.TotalWordsContributed == 16_777_217, "profile", profile)
	expect(profile.IsVerified && profile.Email == "veteran@example.com", "profile", profile)

	// End a session.
	session := value(client.AuthAPI.ListSessions(veteran).Execute()).Items[0]
	expect(session.IsCurrent, "session", session)
	value(client.AuthAPI.EndSession(veteran, session.SessionId).Execute())
	expectProblem(client.ProfileAPI.GetProfile(veteran).Execute())(401, "unauthenticated")

	// Change the username and the bio.
	changeUsername := client.ProfileAPI.ChangeUsername(author)
	taken := changeUsername.UsernameChange(*api.NewUsernameChange("reader-" + run))
	conflict := expectProblem(taken.Execute())(409, "username_taken")
	expect(len(conflict.Errors) == 1 && conflict.Errors[0].GetPointer() == "/username", "problem", conflict)
	username := "author." + run
	renamed := value(changeUsername.UsernameChange(*api.NewUsernameChange(username)).Execute())
	expect(strings.Contains(renamed.Message, username), "confirmation", renamed)
	bio := "Пеку по воскресеньям.\nСпорю о запятых."
	value(client.ProfileAPI.ChangeBio(author).BioChange(*api.NewBioChange(bio)).Execute())
	profile = value(client.ProfileAPI.GetProfile(author).Execute())
	expect(profile.Username == username && profile.Bio == bio && profile.Stats.SpacesCreated == 3, "profile", profile)

	// Upload an avatar. The client sends the name of the file.
	avatar := open(os.Getenv("AVATAR_FILE"))
	picture := value(client.ProfileAPI.ChangeProfilePicture(author).Avatar(avatar).Execute()).ProfilePicture
	expect(picture != profile.ProfilePicture, "the URL is not new", picture)
	profile = value(client.ProfileAPI.GetProfile(author).Execute())
	expect(profile.ProfilePicture == picture, "profile", profile)
	path := "too-large.png"
	expect(os.WriteFile(path, make([]byte, maxAvatarBytes+1), 0o600) == nil, "write", path)
	tooLarge := client.ProfileAPI.ChangeProfilePicture(author).Avatar(open(path))
	expectProblem(tooLarge.Execute())(413, "avatar_too_large")

	// Change the password.
	changePassword := client.ProfileAPI.ChangePassword(author)
	wrong := changePassword.PasswordChange(*api.NewPasswordChange("not my password", newPassword))
	expectProblem(wrong.Execute())(403, "current_password_incorrect")
	value(changePassword.PasswordChange(*api.NewPasswordChange(password, newPassword)).Execute())
	oldCredentials := *api.NewCredentials("author-"+run+"@example.com", password)
	expectProblem(client.AuthAPI.Login(anyone).Credentials(oldCredentials).Execute())(401, "credentials_incorrect")

	// Read what the server offers, and use an unknown token of a mail.
	server := value(client.ServerAPI.GetServer(anyone).Execute())
	expect(server.SendsMail && server.Limits.MaxAvatarBytes == maxAvatarBytes, "server", server)
	request := *api.NewPasswordResetRequest(oldCredentials.Email)
	value(client.AuthAPI.RequestPasswordReset(anyone).PasswordResetRequest(request).Execute())
	reset := *api.NewPasswordReset("unknown", newPassword)
	expectProblem(client.AuthAPI.ResetPassword(anyone).PasswordReset(reset).Execute())(400, "invalid_token")
	verification := *api.NewEmailVerification("unknown")
	expectProblem(client.AuthAPI.VerifyEmail(anyone).EmailVerification(verification).Execute())(400, "invalid_token")

	// Delete the accounts.
	for _, user := range []context.Context{author, reader} {
		value(client.ProfileAPI.DeleteAccount(user).Execute())
		expectProblem(client.ProfileAPI.GetProfile(user).Execute())(401, "unauthenticated")
	}
	left := value(client.SearchAPI.SearchSpacesByTag(anyone, tag).Execute())
	expect(len(left) == 0, "spaces of a deleted account", left)
}
