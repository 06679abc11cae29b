package setup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	client "github.com/canonical/lxd/client"

	"github.com/maaslxd/maaslxd/engine"
)

// The sockets of LXD as its snap and as distributions' packages have it.
const (
	SnapSocket    = "/var/snap/lxd/common/lxd/unix.socket"
	PackageSocket = "/var/lib/lxd/unix.socket"
)

// FindSocket finds the socket of this machine's LXD: the one that the environment
// names as LXD itself does (LXD_SOCKET, LXD_DIR), else the snap's or the
// package's, whichever is there. Of none it is the snap's.
func FindSocket(getenv func(string) string) string {
	if socket := getenv("LXD_SOCKET"); socket != "" {
		return socket
	}
	if folder := getenv("LXD_DIR"); folder != "" {
		return filepath.Join(folder, "unix.socket")
	}
	known := []string{SnapSocket, PackageSocket}
	if n := slices.IndexFunc(known, hasFile); n >= 0 {
		return known[n]
	}
	return SnapSocket
}

func hasFile(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// ConnectLocal connects to an LXD by its socket, with the rights of who may open it:
// all. The connection ends with ctx. An LXD that is not there, does not run, or
// does not let this user in is an *engine.Error that says which.
func ConnectLocal(ctx context.Context, socket, userAgent string) (client.InstanceServer, error) {
	conn, err := client.ConnectLXDUnixWithContext(ctx, socket, &client.ConnectionArgs{UserAgent: userAgent})
	if err != nil {
		return nil, connectError(socket, err)
	}
	return conn, nil
}

func connectError(socket string, err error) error {
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("given up before the LXD at %s answered: %w", socket, err)
	case errors.Is(err, fs.ErrNotExist):
		return hostUnavailableError(engine.ErrUnavailable, "there is no LXD at "+socket,
			"Install it (snap install lxd --channel=5.21/stable); or, if it is there, name its socket: LXD_SOCKET, or --lxd-socket.")
	case errors.Is(err, fs.ErrPermission):
		return hostUnavailableError(engine.ErrForbidden, "this user may not open "+socket, "Run it as root, or as a member of the group lxd.")
	case errors.Is(err, syscall.ECONNREFUSED):
		return hostUnavailableError(engine.ErrUnavailable, "LXD does not run: nobody listens at "+socket, "Start it (snap start lxd), and see its log if it does not stay.")
	}
	return &engine.Error{
		Type: engine.HostUnavailable, Message: "what answers at " + socket + " is not an LXD that can be used",
		Hint: "Name the socket of LXD itself: LXD_SOCKET, or --lxd-socket.", Err: err,
	}
}
