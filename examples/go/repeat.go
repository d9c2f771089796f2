package main

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"
)

// Longer than `wait`, which has at most 25 seconds.
const timeout = 40 * time.Second

const maxPause = 30 * time.Second

// repeatingTransport repeats requests after broken connections, restarts of the server and limits, until the service
// has answered them.
type repeatingTransport struct{}

func (repeatingTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	// Without a key, a lost response may be that of a request which has created something.
	if request.Method == http.MethodPost && request.Header.Get("Idempotency-Key") == "" {
		return send(request)
	}
	limit := 200 * time.Millisecond
	for {
		pause := rand.N(limit)
		limit = min(2*limit, maxPause)
		response, err := send(request)
		if err == nil {
			if !isTemporary(response) {
				return response, nil
			}
			seconds, _ := strconv.Atoi(response.Header.Get("Retry-After"))
			pause += time.Duration(seconds) * time.Second
		}
		select {
		case <-request.Context().Done():
			return nil, request.Context().Err()
		case <-time.After(pause):
		}
	}
}

// send returns a response whose body is complete, because connections also break after the headers.
func send(request *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(request.Context(), timeout)
	defer cancel()
	attempt := request.Clone(ctx)
	if request.GetBody != nil {
		body, err := request.GetBody()
		if err != nil {
			return nil, err
		}
		attempt.Body = body
	}
	response, err := http.DefaultTransport.RoundTrip(attempt)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	response.Body = io.NopCloser(bytes.NewReader(body))
	return response, err
}

func isTemporary(response *http.Response) bool {
	// 409 of sendMessage: an earlier attempt with the same key is still running.
	isRunning := response.StatusCode == http.StatusConflict
	return isRunning || response.StatusCode == http.StatusTooManyRequests || response.StatusCode >= 500
}
