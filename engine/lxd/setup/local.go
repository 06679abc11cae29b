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

// The sockets of LXD in its snap and in distributions' packages.
const (
	SnapSocket    = "/var/snap/lxd/common/lxd/unix.socket"
	PackageSocket = "/var/lib/lxd/unix.socket"
)

// FindSocket returns the socket of this machine's LXD. It is the one that the environment
// names for LXD (LXD_SOCKET, LXD_DIR), else the snap's or the package's, whichever exists.
// If neither exists, it is the snap's.
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

// ConnectLocal connects to an LXD by its socket, which gives all rights. The connection
// ends with ctx.
//
// If LXD is missing, not running, or refuses this user, the error is an *engine.Error that
// says so.
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
			"Install it (snap install lxd --channel=5.21/stable). If it is installed, name its socket: LXD_SOCKET, or --lxd-socket.")
	case errors.Is(err, fs.ErrPermission):
		return hostUnavailableError(engine.ErrForbidden, "this user may not open "+socket, "Run it as root, or as a member of the group lxd.")
	case errors.Is(err, syscall.ECONNREFUSED):
		return hostUnavailableError(engine.ErrUnavailable, "LXD does not run: nothing listens at "+socket, "Start it (snap start lxd), and see its log if it stops again.")
	}
	return &engine.Error{
		Type: engine.HostUnavailable, Message: "the server at " + socket + " is not a usable LXD",
		Hint: "Name the socket of LXD itself: LXD_SOCKET, or --lxd-socket.", Err: err,
	}
}
