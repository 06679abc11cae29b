package client

import (
	"context"
	"log/slog"

	"github.com/hashicorp/terraform-plugin-log/tflog"
)

// newLogger returns a logger that writes to Terraform's log, by the context of each record.
// Terraform chooses the level (TF_LOG_PROVIDER).
func newLogger() *slog.Logger { return slog.New(logHandler{}) }

// logHandler passes the engine's records to tflog.
type logHandler struct {
	fields map[string]any
	group  string // ends with a dot, or is empty
}

func (logHandler) Enabled(context.Context, slog.Level) bool { return true }

func (h logHandler) Handle(ctx context.Context, r slog.Record) error {
	fields := h.copyFields()
	r.Attrs(func(a slog.Attr) bool {
		fields[h.group+a.Key] = a.Value.Resolve().Any()
		return true
	})
	switch {
	case r.Level >= slog.LevelError:
		tflog.Error(ctx, r.Message, fields)
	case r.Level >= slog.LevelWarn:
		tflog.Warn(ctx, r.Message, fields)
	case r.Level >= slog.LevelInfo:
		tflog.Info(ctx, r.Message, fields)
	default:
		tflog.Debug(ctx, r.Message, fields)
	}
	return nil
}

func (h logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	fields := h.copyFields()
	for _, a := range attrs {
		fields[h.group+a.Key] = a.Value.Resolve().Any()
	}
	return logHandler{fields: fields, group: h.group}
}

func (h logHandler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	return logHandler{fields: h.fields, group: h.group + name + "."}
}

func (h logHandler) copyFields() map[string]any {
	fields := make(map[string]any, len(h.fields))
	for k, v := range h.fields {
		fields[k] = v
	}
	return fields
}
