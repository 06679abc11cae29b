package service

import (
	"context"
	"log/slog"
	"time"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger/wire"
)

// reportRequest passes an answered request to OnAnswered, and logs it.
func (s *Service) reportRequest(ctx context.Context, c *request, answer wire.Answer, took time.Duration) {
	done := AnsweredRequest{Operation: c.Name, Client: c.client.Name, Outcome: outcomeLabel(answer), Resent: c.resent, Took: took}
	if s.OnAnswered != nil {
		s.OnAnswered(done)
	}
	level := slog.LevelDebug
	if c.Writes || answer.Error != nil && c.client.Name == "" {
		level = slog.LevelInfo
	}
	if s.Log == nil || !s.Log.Enabled(ctx, level) {
		return
	}
	about := []slog.Attr{
		slog.String("client", done.Client), slog.String("operation", done.Operation), slog.String("outcome", done.Outcome),
		slog.Duration("took", took), slog.Bool("resent", done.Resent),
	}
	failure := ""
	if answer.Error != nil {
		failure = answer.Error.Message
	}
	for _, a := range []struct{ name, text string }{{"region", c.call.Region}, {"key", string(c.subjectKey())}, {"host", c.subjectHost(answer)}, {"error", failure}} {
		if a.text != "" {
			about = append(about, slog.String(a.name, safeText(a.text)))
		}
	}
	message := "read"
	if c.Writes {
		message = "write"
	}
	s.Log.LogAttrs(ctx, level, message, about...)
}

// outcomeLabel returns the outcome of a request as one word.
func outcomeLabel(answer wire.Answer) string {
	switch e := answer.Error; {
	case e == nil:
		return "ok"
	case e.Type == engine.InsufficientResources:
		return "no-room"
	case e.Code != "":
		return e.Code
	}
	return "error"
}

// subjectKey returns the key that a call is about; empty: none.
func (r *request) subjectKey() engine.Key {
	if r.writtenKey == nil || r.isComplete != nil && !r.isComplete(r.call) {
		return r.call.Key
	}
	return r.writtenKey(r.call)
}

// subjectHost returns the VM host that a write is about; empty: none.
func (r *request) subjectHost(answer wire.Answer) string {
	switch {
	case answer.Row != nil:
		return answer.Row.HostKey
	case r.call.Close != nil:
		return r.call.Close.HostKey
	case r.call.Row != nil:
		return r.call.Row.HostKey
	}
	return r.call.HostKey
}
