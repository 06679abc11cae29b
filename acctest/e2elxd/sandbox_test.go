package e2elxd

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// Variables that tell each process of a run what it is.
const (
	stageVariable  = "MAASLXD_E2E_STAGE"
	folderVariable = "MAASLXD_E2E_FOLDER"
	imageVariable  = "MAASLXD_E2E_IMAGE"
	stageInit      = "init"
	stageTests     = "tests"
)

// requiredTools are the programs that a run needs, each with its Debian
// package.
var requiredTools = []struct{ name, pkg string }{
	{"mmdebstrap", "mmdebstrap"}, {"mksquashfs", "squashfs-tools"}, {"unsquashfs", "squashfs-tools"}, {"xz", "xz-utils"},
	{"lxd", "lxd"}, {"lxc", "lxd-client"}, {"cloud-init", "cloud-init"}, {"ip", "iproute2"}, {"nft", "nftables"}, {"losetup", "mount"}, {"mkfs.btrfs", "btrfs-progs"},
}

// checkPrerequisites returns an error that names what a run needs and this
// machine lacks.
func checkPrerequisites() error {
	if os.Geteuid() != 0 {
		return errors.New("needs root: LXD, namespaces and file systems are real here")
	}
	var packages []string
	for _, tool := range requiredTools {
		if _, err := exec.LookPath(tool.name); err != nil {
			packages = append(packages, fmt.Sprintf("%s (package %s)", tool.name, tool.pkg))
		}
	}
	if len(packages) > 0 {
		return fmt.Errorf("needs %s: make e2e-lxd installs them on Debian", strings.Join(packages, ", "))
	}
	return nil
}

// runInNamespaces builds the image, and runs the tests in new namespaces. Their
// processes, mounts and networks end with the first process in them, and that
// one ends with this process.
func runInNamespaces() (int, error) {
	if err := checkPrerequisites(); err != nil {
		return 0, err
	}
	image, err := ensureImage()
	if err != nil {
		return 0, err
	}
	sweepCgroups() // left by a run that was killed
	folder, lock, err := newFolder()
	if err != nil {
		return 0, err
	}
	defer lock.Close()
	if *keepLogs {
		fmt.Fprintln(os.Stderr, "e2e-lxd: the logs stay in", folder, "until the next run")
	}
	runtime.LockOSThread() // Pdeathsig acts when this thread ends
	cmd := newSelfCommand(&syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET | syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC,
		Pdeathsig:  syscall.SIGKILL,
	}, stageVariable+"="+stageInit, folderVariable+"="+folder, imageVariable+"="+image)
	status, err := runUntilSignal(cmd)
	sweepCgroups()
	if *keepLogs {
		return status, err
	}
	return status, errors.Join(err, os.RemoveAll(folder))
}

// runUntilSignal runs a program to its end, or until a signal.
func runUntilSignal(cmd *exec.Cmd) (int, error) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	go func() {
		if _, ok := <-signals; ok {
			_ = cmd.Process.Kill() // everything that it started ends with it
		}
	}()
	err := cmd.Wait()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return max(exit.ExitCode(), 1), nil
	}
	return 0, err
}

// runAsInit is the first process of the namespaces. It turns them into a small
// machine, and collects processes whose parents have ended.
func runAsInit() (int, error) {
	if err := mountNamespaceFilesystems(); err != nil {
		return 0, err
	}
	self := newSelfCommand(nil, stageVariable+"="+stageTests)
	if err := self.Start(); err != nil {
		return 0, err
	}
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return 0, err
		case pid == self.Process.Pid && status.Exited():
			return status.ExitStatus(), nil
		case pid == self.Process.Pid:
			return 0, fmt.Errorf("the tests were ended by signal %s", status.Signal())
		}
	}
}

// mountNamespaceFilesystems gives the namespaces their own /proc, /sys and
// loopback interface. /sys shows the networks of the process that mounts it.
// The cgroups below it are mounted, too.
func mountNamespaceFilesystems() error {
	cgroups := inFolder("cgroups")
	if err := os.Mkdir(cgroups, 0o700); err != nil {
		return err
	}
	for _, words := range []string{
		"mount --make-rprivate /",
		"mount -t proc proc /proc",
		"mount --rbind /sys/fs/cgroup " + cgroups,
		"mount -t sysfs sysfs /sys",
		"mount --rbind " + cgroups + " /sys/fs/cgroup",
		"umount --lazy " + cgroups,
		"ip link set lo up",
	} {
		if err := runCommand("sh", "-c", words); err != nil {
			return err
		}
	}
	return delegateSubIDs()
}

// delegateSubIDs lets root give ids to unprivileged containers, in these
// namespaces only.
func delegateSubIDs() error {
	file, err := os.CreateTemp(os.Getenv(folderVariable), "ids-")
	if err != nil {
		return err
	}
	_, err = file.WriteString("root:1000000:1000000000\n")
	err = errors.Join(err, file.Close())
	for _, name := range []string{"/etc/subuid", "/etc/subgid"} {
		err = errors.Join(err, syscall.Mount(file.Name(), name, "", syscall.MS_BIND, ""))
	}
	return err
}

func runCommand(name string, arguments ...string) error {
	out, err := exec.Command(name, arguments...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(arguments, " "), err, out)
	}
	return nil
}

// newSelfCommand runs this program again.
func newSelfCommand(attributes *syscall.SysProcAttr, variables ...string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Env, cmd.SysProcAttr = append(os.Environ(), variables...), attributes
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	return cmd
}

// shortTimeout is how long a machine may take for a small task.
const shortTimeout = time.Minute

// waitForPort waits until something listens at the address.
func waitForPort(address string, most time.Duration) error {
	for began := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		conn, err := net.DialTimeout("tcp", address, time.Second)
		if err == nil {
			return conn.Close()
		}
		if time.Since(began) > most {
			return fmt.Errorf("nothing listens at %s after %s: %w", address, most, err)
		}
	}
}

// inFolder is a path in the run's folder.
func inFolder(name string) string { return filepath.Join(os.Getenv(folderVariable), name) }
