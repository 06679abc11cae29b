package e2elxd

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// daemon is an LXD that the tests start.
type daemon struct{ folder string }

// startLXD starts an LXD that keeps everything in a folder of the run.
func startLXD(name string) (daemon, error) {
	d := daemon{folder: inFolder(name)}
	if err := os.MkdirAll(d.folder+"/conf", 0o711); err != nil {
		return d, err
	}
	log, err := os.Create(d.folder + ".log")
	if err != nil {
		return d, err
	}
	cmd := exec.Command("lxd", "--group", "root") // without --debug, which logs whole bodies
	cmd.Env, cmd.Stdout, cmd.Stderr = d.environment(), log, log
	if err := cmd.Start(); err != nil {
		return d, err
	}
	go func() { _ = cmd.Wait() }() // it ends together with the namespaces
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_, err = d.run(ctx, nil, "lxd", "waitready", "--timeout=60")
	return d, err
}

func (d daemon) environment() []string {
	return append(os.Environ(), "LXD_DIR="+d.folder, "LXD_CONF="+d.folder+"/conf", "LC_ALL=C.UTF-8")
}

// run runs a program that talks to the daemon.
func (d daemon) run(ctx context.Context, input []byte, name string, arguments ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, arguments...)
	cmd.Env, cmd.Stdin = d.environment(), bytes.NewReader(input)
	cmd.WaitDelay = 5 * time.Second
	var out, problem bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problem
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%s %s: %w\n%s%s", name, strings.Join(arguments, " "), err, problem.Bytes(), out.Bytes())
	}
	return out.String(), nil
}

// outerPreseed configures the LXD of the data centre. Its file system lets the
// LXDs in the machines have pools of btrfs, too.
const outerPreseed = `
storage_pools: [{name: disks, driver: btrfs, config: {size: 12GiB}}]
profiles:
- name: default
  config: {security.nesting: "true", boot.autostart: "false"}
  devices: {root: {type: disk, path: /, pool: disks}}
`

// startDataCentre starts the LXD in which machines are containers, once.
var startDataCentre = sync.OnceValues(func() (daemon, error) {
	d, err := startLXD("lxd")
	if err != nil {
		return d, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	if _, err := d.run(ctx, []byte(outerPreseed), "lxd", "init", "--preseed"); err != nil {
		return d, err
	}
	image := os.Getenv(imageVariable)
	_, err = d.run(ctx, nil, "lxc", "image", "import", image+"/metadata.tar.xz", image+"/rootfs.squashfs", "--alias", "machine")
	return d, err
})

// lxc runs a command of LXD's client, which must succeed.
func (d daemon) lxc(t *testing.T, arguments ...string) string {
	t.Helper()
	out, err := d.run(t.Context(), nil, "lxc", arguments...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
