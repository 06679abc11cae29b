package setup

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/maaslxd/maaslxd/engine"
)

func TestSocketPath(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		env    map[string]string
		want   string
	}{
		"Socket": {reason: "LXD's own variable counts first.", env: map[string]string{"LXD_SOCKET": "/a.socket", "LXD_DIR": "/b"}, want: "/a.socket"},
		"Dir":    {reason: "Then its folder.", env: map[string]string{"LXD_DIR": "/b"}, want: "/b/unix.socket"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := FindSocket(func(key string) string { return tc.env[key] }); got != tc.want {
				t.Errorf("%s\ngot %s, want %s", tc.reason, got, tc.want)
			}
		})
	}
	if got := FindSocket(func(string) string { return "" }); got != SnapSocket && got != PackageSocket {
		t.Errorf("got %s", got)
	}
}

// TestLocalRefused says why the local connection failed.
func TestLocalRefused(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	dead := filepath.Join(folder, "dead")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: dead})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	l.Close()
	stranger := httptest.NewUnstartedServer(http.NotFoundHandler())
	stranger.Listener.Close()
	if stranger.Listener, err = net.Listen("unix", filepath.Join(folder, "web")); err != nil {
		t.Fatal(err)
	}
	stranger.Start()
	t.Cleanup(stranger.Close)
	cases := map[string]struct {
		reason, socket, says, hint string
		sentinel                   error
	}{
		"None":     {reason: "No LXD is installed.", socket: filepath.Join(folder, "none"), says: "there is no LXD at", hint: "snap install lxd", sentinel: engine.ErrUnavailable},
		"Dead":     {reason: "It is installed and does not run.", socket: dead, says: "LXD does not run", hint: "snap start lxd", sentinel: engine.ErrUnavailable},
		"Stranger": {reason: "Something else has that socket.", socket: filepath.Join(folder, "web"), says: "is not a usable LXD", hint: "--lxd-socket"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := ConnectLocal(t.Context(), tc.socket, "")
			failure := (*engine.Error)(nil)
			if !errors.As(err, &failure) || !strings.Contains(failure.Message, tc.says) || !strings.Contains(failure.Hint, tc.hint) || tc.sentinel != nil && !errors.Is(err, tc.sentinel) {
				t.Errorf("%s\ngot %v", tc.reason, err)
			}
		})
	}
}
