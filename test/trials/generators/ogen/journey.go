// Uses every important operation with the generated client. See ../README.md for the steps.
package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/ogen-go/ogen/http"
	"github.com/ogen-go/ogen/ogenerrors"

	api "example.com/journey/spaceservice"
)

const (
	password       = "correct horse battery"
	newPassword    = "staple of the north wind"
	maxAvatarBytes = 5_242_880
)

var (
	run = os.Getenv("RUN")
	ctx = context.Background()
)

var nextPage = regexp.MustCompile(`<[^>]*[?&]cursor=([\w-]+)[^>]*>; rel="next"`)

func expect(isTrue bool, what string, values ...any) {
	if !isTrue {
		panic(fmt.Sprintf("%s: %+v", what, values))
	}
}

func unwrap[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// as returns the response if it has the type of the expected status. Every status of an operation has its own type.
func as[T any](response any, err error) T {
	expect(err == nil, "error", err)
	typed, ok := response.(T)
	expect(ok, fmt.Sprintf("unexpected %T", response), response)
	return typed
}

func expectProblem(problem api.Problem, status int32, code string) api.Problem {
	expect(problem.Status == status && problem.Code == code, "problem", problem)
	expect(problem.Detail != "" && problem.RequestID != "", "problem", problem)
	return problem
}

func expectUnauthenticated(response any, err error) {
	expectProblem(as[*api.UnauthenticatedHeaders](response, err).Response, 401, "unauthenticated")
}

func nextCursor(link api.OptString) api.OptString {
	if !link.Set {
		return link
	}
	match := nextPage.FindStringSubmatch(link.Value)
	expect(match != nil, "Link", link)
	return api.NewOptString(match[1])
}

// accessToken authenticates the requests of a user. Empty for requests without a token.
type accessToken string

func (token accessToken) Bearer(context.Context, api.OperationName) (api.Bearer, error) {
	if token == "" {
		return api.Bearer{}, ogenerrors.ErrSkipClientSecurity
	}
	return api.Bearer{Token: string(token)}, nil
}

func newClient(token string) *api.Client {
	return unwrap(api.NewClient(os.Getenv("SERVER_URL"), accessToken(token)))
}

func registration(name string) *api.Registration {
	name = name + "-" + run
	return &api.Registration{
		Username: api.Username(name),
		Email:    api.Email(name + "@example.com"),
		Password: password,
	}
}

func ids(results []api.SearchResult) []string {
	var found []string
	for _, each := range results {
		found = append(found, each.SpaceID)
	}
	return found
}

func isRecent(moment time.Time) bool {
	return time.Since(moment).Abs() < time.Hour
}

func main() {
	anyone := newClient("")

	// Register two users.
	authorSession := as[*api.SessionHeaders](anyone.Register(ctx, registration("author"))).Response
	expect(authorSession.TokenType == os.Getenv("TOKEN_TYPE"), "session", authorSession)
	expect(authorSession.ExpiresIn == 2_592_000, "session", authorSession)
	author := newClient(authorSession.AccessToken)
	reader := newClient(as[*api.SessionHeaders](anyone.Register(ctx, registration("reader"))).Response.AccessToken)

	// Create three spaces.
	tag := "c/c++ #1 50%? " + run
	var titles, newestFirst []string
	for number := 1; number <= 3; number++ {
		creation := api.SpaceCreation{
			Title:       api.SpaceTitle(fmt.Sprintf("Хлеб %s %d", run, number)),
			Description: "Мука, вода, соль",
			Visibility:  api.VisibilityPublic,
			Tags:        api.TagNames{tag, "выпечка"},
		}
		space := as[*api.SpaceHeaders](author.CreateSpace(ctx, &creation, api.CreateSpaceParams{})).Response
		expect(space.Title == string(creation.Title), "space", space)
		expect(space.Description == string(creation.Description), "space", space)
		expect(space.Visibility == os.Getenv("VISIBILITY") && space.InvitationCode.Null, "space", space)
		expect(len(space.Tags) == 2 && space.Tags[0].TagName == tag && space.Tags[0].TagID >= 1, "space", space)
		expect(space.ParticipantCount == 1 && space.Creator.UserID == authorSession.UserID, "space", space)
		expect(isRecent(space.CreatedAt), "space", space)
		titles = append(titles, space.Title)
		newestFirst = append([]string{space.SpaceID}, newestFirst...)
	}

	// Search by text, in two pages.
	search := api.SearchSpacesParams{Q: "хлеб " + run, AsTyped: api.NewOptBool(true), Limit: api.NewOptInt32(2)}
	page := as[*api.SearchSpacesOKHeaders](anyone.SearchSpaces(ctx, search))
	found := page.Response
	expect(len(found) == 2 && found[0].Title == titles[2], "first page", found)
	search.Cursor = nextCursor(page.Link)
	expect(search.Cursor.Set, "Link is missing")
	page = as[*api.SearchSpacesOKHeaders](anyone.SearchSpaces(ctx, search))
	found = append(found, page.Response...)
	expect(slices.Equal(ids(found), newestFirst), "search by text", found)
	expect(!nextCursor(page.Link).Set, "Link of the last page")

	// Search by tag.
	byTag := api.SearchSpacesByTagParams{Tag: tag}
	tagged := as[*api.SearchSpacesByTagOKHeaders](anyone.SearchSpacesByTag(ctx, byTag))
	expect(slices.Equal(ids(tagged.Response), newestFirst), "search by tag", tagged)

	// List the author's spaces, in two pages.
	list := api.ListParticipationsParams{Limit: api.NewOptInt32(2)}
	firstSpaces := as[*api.ParticipationPageHeaders](author.ListParticipations(ctx, list)).Response
	expect(len(firstSpaces.Items) == 2 && !firstSpaces.NextCursor.Null, "first page", firstSpaces)
	list.Cursor = api.NewOptString(firstSpaces.NextCursor.Value)
	lastSpaces := as[*api.ParticipationPageHeaders](author.ListParticipations(ctx, list)).Response
	expect(len(lastSpaces.Items) == 1 && lastSpaces.NextCursor.Null, "last page", lastSpaces)
	expect(lastSpaces.Items[0].Space.SpaceID == newestFirst[2], "last page", lastSpaces)

	// Join without a body, and send a message.
	spaceID := api.ID(newestFirst[2])
	sending := api.SendMessageParams{}
	send := func(text string) (api.SendMessageRes, error) {
		creation := api.MessageCreation{SpaceID: spaceID, Text: api.MessageText(text)}
		return reader.SendMessage(ctx, &creation, sending)
	}
	early := as[*api.SendMessageForbidden](send("Привет"))
	expectProblem(early.Response, 403, "not_a_participant")
	joining := api.JoinSpaceParams{SpaceID: spaceID}
	participation := as[*api.JoinSpaceOKHeaders](reader.JoinSpace(ctx, api.OptInvitation{}, joining)).Response
	expect(participation.Space.SpaceID == string(spaceID), "participation", participation)
	expect(participation.Space.ParticipantCount == 2 && isRecent(participation.JoinedAt), "participation", participation)
	text := "Привет, мир! 👋\nДва"
	sending.IdempotencyKey = api.NewOptIdempotencyKey(api.IdempotencyKey("idempotency-key-" + run))
	message := as[*api.MessageHeaders](send(text)).Response
	repeated := as[*api.MessageHeaders](send(text)).Response
	expect(repeated.MessageID == message.MessageID, "message", repeated)
	expect(message.Text == text && message.WordCount == 3 && message.AppreciationCount == 0, "message", message)
	expect(message.Author.Username == "reader-"+run, "message", message)

	// Appreciate the message.
	appreciation := api.AppreciateMessageParams{MessageID: api.ID(message.MessageID)}
	appreciated := as[*api.AppreciateMessageOKHeaders](author.AppreciateMessage(ctx, appreciation)).Response
	expect(appreciated.AppreciationCount == 1, "message", appreciated)
	own := as[*api.ProblemHeaders](reader.AppreciateMessage(ctx, appreciation))
	expectProblem(own.Response, 403, "own_message")
	listed := as[*api.MessagePageHeaders](anyone.ListMessages(ctx, api.ListMessagesParams{SpaceID: spaceID}))
	messages := listed.Response.Items
	expect(len(messages) == 1 && messages[0].MessageID == message.MessageID, "messages", messages)
	expect(messages[0].AppreciationCount == 1, "messages", messages)

	// Answer the message, and list the answer.
	reply := api.MessageCreation{SpaceID: spaceID, Text: "Три", ReplyTo: api.NewOptNilString(message.MessageID)}
	answer := as[*api.MessageHeaders](reader.SendMessage(ctx, &reply, api.SendMessageParams{})).Response
	expect(answer.IsReply && answer.ReplyTo.Value.MessageID == message.MessageID, "answer", answer)
	newer := api.ListMessagesParams{
		SpaceID: spaceID,
		After:   api.NewOptString(listed.Response.NewerCursor),
		Wait:    api.NewOptInt32(25),
	}
	messages = as[*api.MessagePageHeaders](anyone.ListMessages(ctx, newer)).Response.Items
	expect(len(messages) == 1 && messages[0].MessageID == answer.MessageID, "messages", messages)

	// Edit the answer.
	editing := api.EditMessageParams{MessageID: api.ID(answer.MessageID)}
	edited := as[*api.MessageHeaders](reader.EditMessage(ctx, &api.MessageEdit{Text: "Три и четыре"}, editing)).Response
	expect(edited.Text == "Три и четыре" && edited.WordCount == 3 && isRecent(edited.EditedAt.Value), "edited", edited)

	// Read a profile with large numbers.
	veteranCredentials := api.Credentials{Email: "veteran@example.com", Password: password}
	veteran := newClient(as[*api.SessionHeaders](anyone.Login(ctx, &veteranCredentials)).Response.AccessToken)
	profile := as[*api.ProfileHeaders](veteran.GetProfile(ctx)).Response
	expect(profile.Stats.TotalWordsContributed == 16_777_217, "profile", profile)
	expect(profile.IsVerified && profile.Email == "veteran@example.com", "profile", profile)

	// End a session.
	sessions := as[*api.SessionPageHeaders](veteran.ListSessions(ctx, api.ListSessionsParams{})).Response
	session := sessions.Items[0]
	expect(session.IsCurrent, "session", session)
	as[*api.ConfirmationHeaders](veteran.EndSession(ctx, api.EndSessionParams{SessionID: api.ID(session.SessionID)}))
	expectUnauthenticated(veteran.GetProfile(ctx))

	// Change the username and the bio.
	taken := api.UsernameChange{Username: api.Username("reader-" + run)}
	refusedName := as[*api.UsernameTakenHeaders](author.ChangeUsername(ctx, &taken))
	conflict := expectProblem(refusedName.Response, 409, "username_taken")
	expect(len(conflict.Errors) == 1 && conflict.Errors[0].Pointer.Value == "/username", "problem", conflict)
	username := "author." + run
	renaming := api.UsernameChange{Username: api.Username(username)}
	renamed := as[*api.RequestPasswordResetAcceptedHeaders](author.ChangeUsername(ctx, &renaming)).Response
	expect(strings.Contains(renamed.Message, username), "confirmation", renamed)
	bio := "Пеку по воскресеньям.\nСпорю о запятых."
	as[*api.ChangeBioOKHeaders](author.ChangeBio(ctx, &api.BioChange{Bio: bio}))
	profile = as[*api.ProfileHeaders](author.GetProfile(ctx)).Response
	expect(profile.Username == username && profile.Bio == bio && profile.Stats.SpacesCreated == 3, "profile", profile)

	// Upload an avatar with and without a file name.
	upload := func(content []byte, fileName string) (api.ChangeProfilePictureRes, error) {
		file := http.MultipartFile{Name: fileName, File: bytes.NewReader(content)}
		return author.ChangeProfilePicture(ctx, &api.PictureChangeMultipart{Avatar: file})
	}
	avatar := unwrap(os.ReadFile(os.Getenv("AVATAR_FILE")))
	pictures := []string{profile.ProfilePicture.String()}
	for _, fileName := range []string{"avatar.png", ""} {
		uploaded := as[*api.PictureHeaders](upload(avatar, fileName)).Response.ProfilePicture
		expect(!slices.Contains(pictures, uploaded.String()), "the URL is not new", uploaded)
		pictures = append(pictures, uploaded.String())
		profile = as[*api.ProfileHeaders](author.GetProfile(ctx)).Response
		expect(profile.ProfilePicture == uploaded, "profile", profile)
	}
	tooLarge := as[*api.ChangeProfilePictureRequestEntityTooLarge](upload(make([]byte, maxAvatarBytes+1), "avatar.png"))
	expectProblem(tooLarge.Response, 413, "avatar_too_large")

	// Change the password.
	wrong := api.PasswordChange{CurrentPassword: "not my password", NewPassword: newPassword}
	refused := as[*api.LoginForbiddenHeaders](author.ChangePassword(ctx, &wrong))
	expectProblem(refused.Response, 403, "current_password_incorrect")
	right := api.PasswordChange{CurrentPassword: password, NewPassword: newPassword}
	as[*api.RequestPasswordResetAcceptedHeaders](author.ChangePassword(ctx, &right))
	oldCredentials := api.Credentials{Email: registration("author").Email, Password: password}
	loggedIn := as[*api.LoginUnauthorizedHeaders](anyone.Login(ctx, &oldCredentials))
	expectProblem(loggedIn.Response, 401, "credentials_incorrect")

	// Read what the server offers, and use an unknown token of a mail.
	server := as[*api.ServerHeaders](anyone.GetServer(ctx)).Response
	expect(server.SendsMail && server.Limits.MaxAvatarBytes == maxAvatarBytes, "server", server)
	as[*api.RequestPasswordResetAcceptedHeaders](
		anyone.RequestPasswordReset(ctx, &api.PasswordResetRequest{Email: oldCredentials.Email}))
	reset := as[*api.ProblemHeaders](
		anyone.ResetPassword(ctx, &api.PasswordReset{Token: "unknown", NewPassword: newPassword}))
	expectProblem(reset.Response, 400, "invalid_token")
	verified := as[*api.VerifyEmailBadRequest](anyone.VerifyEmail(ctx, &api.EmailVerification{Token: "unknown"}))
	expectProblem(verified.Response, 400, "invalid_token")

	// Delete the accounts.
	for _, user := range []*api.Client{author, reader} {
		as[*api.ConfirmationHeaders](user.DeleteAccount(ctx))
		expectUnauthenticated(user.GetProfile(ctx))
	}
	left := as[*api.SearchSpacesByTagOKHeaders](anyone.SearchSpacesByTag(ctx, byTag)).Response
	expect(len(left) == 0, "spaces of a deleted account", left)
}
