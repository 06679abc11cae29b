package diagnostics

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
)

// TestReportRead names the attribute that allows more time only if the time
// was up.
func TestReportRead(t *testing.T) {
	t.Parallel()
	late, cancel := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer cancel()
	for title, tc := range map[string]struct {
		look     context.Context
		says     string
		isTimeUp bool
	}{
		"TimeIsUp": {late, "timeouts.read", true},
		"Other":    {t.Context(), "strange", false},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			var diags diag.Diagnostics
			ReportRead(tc.look, &diags, "read VM web-1", errors.New("strange"))
			if len(diags) != 1 || diags[0].Summary() != "Cannot read VM web-1" {
				t.Fatalf("diagnostics: %v", diags)
			}
			text := diags[0].Detail()
			if !strings.Contains(text, tc.says) || strings.Contains(text, "timeouts.read") != tc.isTimeUp {
				t.Errorf("it says %q", text)
			}
		})
	}
}
