package lxd

import (
	"context"
	"errors"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/canonical/lxd/shared/api"
)

// TestHugeListIsRefused answers with a list of empty instances, each of which becomes a struct of
// half a kilobyte. It is not parallel: it reads what the process allocated.
func TestHugeListIsRefused(t *testing.T) {
	const plain, most = 8 << 20, 200 << 20
	key := makeKey(t)
	f := startFakeLXD(t, map[string][]string{key.Fingerprint: {unrestricted}})
	body := `{"type":"sync","status":"Success","status_code":200,"metadata":[` + strings.Repeat("{},", plain/3) + `{}]}`
	f.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, body)
	})
	p := NewProber(Config{Timeout: time.Minute})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	at := target{address: strings.TrimPrefix(f.URL, "https://"), project: "default", key: key}
	pin, err := p.learnFingerprint(ctx, at.address)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := p.connect(ctx, at, pin)
	if err != nil {
		t.Fatal(err)
	}
	s := &session{ctx: ctx, callerCtx: ctx, conn: conn, target: at, timeout: time.Minute}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var instances []api.Instance
	_, err = s.get("/1.0/instances?recursion=1", &instances)
	runtime.ReadMemStats(&after)
	if !errors.Is(err, errNotLXD) {
		t.Errorf("got %d instances, %v, want a refusal", len(instances), err)
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > most {
		t.Errorf("took %d MiB, want at most %d", took>>20, most>>20)
	}
}
