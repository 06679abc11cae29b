package api

import (
	"context"
	"log/slog"
	"time"
)

// newLogHandler writes a Debug line for each attempt: the route without ids, never a query,
// a form or a body.
func newLogHandler(next handler, log *slog.Logger, now func() time.Time) handler {
	return func(ctx context.Context, r *Request) (*answer, error) {
		began := now()
		a, err := next(ctx, r)
		attrs := []slog.Attr{
			slog.String("method", r.method),
			slog.String("route", r.route),
			slog.Duration("duration", now().Sub(began)),
		}
		if a != nil {
			attrs = append(attrs, slog.Int("status", a.status))
		}
		if e, ok := AsError(err); ok {
			attrs = append(attrs, slog.Int("status", e.Status), slog.String("error", e.Message))
		}
		log.LogAttrs(ctx, slog.LevelDebug, "maas request", attrs...)
		return a, err
	}
}
