// Terminal lists the spaces of an account. With the id of a space, it follows the space, and sends each line of the
// standard input as a message.
package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"fmt"
	"log"
	"net/http"
	"os"
	"slices"
	"strings"

	api "example.com/terminal/spaceservice"
)

var (
	ctx      = context.Background()
	pageSize = int32(100)
	wait     = int32(25)
)

func main() {
	log.SetFlags(0)
	authorize := func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+os.Getenv("ACCESS_TOKEN"))
		return nil
	}
	client, err := api.NewClientWithResponses(
		os.Getenv("SERVER_URL"),
		api.WithHTTPClient(&http.Client{Transport: repeatingTransport{}}),
		api.WithRequestEditorFn(authorize),
	)
	exitOn(err)
	if len(os.Args) < 2 {
		exitOn(listSpaces(client))
		return
	}
	spaceID := os.Args[1]
	go func() { exitOn(follow(client, spaceID)) }()
	exitOn(sendLines(client, spaceID))
}

func exitOn(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func listSpaces(client *api.ClientWithResponses) error {
	params := api.ListParticipationsParams{Limit: &pageSize}
	for {
		response, err := client.ListParticipationsWithResponse(ctx, &params)
		if err != nil {
			return err
		}
		page := response.JSON200
		if page == nil {
			return rejection(response.HTTPResponse, response.Body)
		}
		for _, each := range page.Items {
			fmt.Printf("%s  %s (%d unread)\n", each.Space.SpaceId, each.Space.Title, each.UnreadCount)
		}
		if page.NextCursor == nil {
			return nil
		}
		params.Cursor = page.NextCursor
	}
}

// follow prints the latest messages, and then everything that happens.
func follow(client *api.ClientWithResponses, spaceID string) error {
	params := api.ListMessagesParams{SpaceId: spaceID, Limit: &pageSize}
	for {
		response, err := client.ListMessagesWithResponse(ctx, &params)
		if err != nil {
			return err
		}
		page := response.JSON200
		if page == nil {
			return rejection(response.HTTPResponse, response.Body)
		}
		if params.After == nil {
			// The first page has the newest message first.
			slices.Reverse(page.Items)
		}
		for _, message := range page.Items {
			print("", message)
		}
		for _, message := range page.ChangedItems {
			print("* ", message)
		}
		for _, id := range page.DeletedMessageIds {
			fmt.Printf("- %s was deleted\n", id)
		}
		params.After, params.Wait = &page.NewerCursor, &wait
	}
}

func print(mark string, message api.Message) {
	at := message.CreatedAt.Local().Format("15:04")
	// A message must not control the terminal.
	text := strings.Map(func(character rune) rune {
		if character < ' ' || character >= 0x7f && character < 0xa0 {
			return ' '
		}
		return character
	}, message.Text)
	fmt.Printf("%s%s %s: %s\n", mark, at, message.Author.Username, text)
}

// sendLines sends each line once: repetitions of a request have its key.
func sendLines(client *api.ClientWithResponses, spaceID string) error {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		if strings.TrimSpace(lines.Text()) == "" {
			continue
		}
		key := rand.Text()
		params := api.SendMessageParams{IdempotencyKey: &key}
		body := api.MessageCreation{SpaceId: spaceID, Text: lines.Text()}
		response, err := client.SendMessageWithResponse(ctx, &params, body)
		if err != nil {
			return err
		}
		if response.JSON201 == nil {
			// The next line may be accepted.
			log.Print(rejection(response.HTTPResponse, response.Body))
		}
	}
	return lines.Err()
}

func rejection(response *http.Response, body []byte) error {
	return fmt.Errorf("%s: %s", response.Status, body)
}
