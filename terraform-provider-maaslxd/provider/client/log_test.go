package client

import (
	"bytes"
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-log/tflogtest"
)

func TestLogGoesToTerraform(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	ctx := tflogtest.RootLogger(t.Context(), &out)
	log := newLogger().With("system_id", "4y3h7n")
	log.DebugContext(ctx, "looked")
	log.InfoContext(ctx, "composed VM", "host", "lxd-a")
	log.WithGroup("call").With("route", "machines/").WarnContext(ctx, "slow", "tries", 2)
	log.ErrorContext(ctx, "failed")
	log.ErrorContext(context.Background(), "outside any call of Terraform, so nobody sees it")

	lines, err := tflogtest.MultilineJSONDecode(&out)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range lines {
		delete(line, "@timestamp")
		delete(line, "@caller")
		delete(line, "@module")
	}
	want := []map[string]any{
		{"@level": "debug", "@message": "looked", "system_id": "4y3h7n"},
		{"@level": "info", "@message": "composed VM", "system_id": "4y3h7n", "host": "lxd-a"},
		{"@level": "warn", "@message": "slow", "system_id": "4y3h7n", "call.route": "machines/", "call.tries": 2.0},
		{"@level": "error", "@message": "failed", "system_id": "4y3h7n"},
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
