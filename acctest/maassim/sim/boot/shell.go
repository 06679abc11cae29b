package boot

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/interp"
	"mvdan.cc/sh/v3/syntax"
)

// maxCommands ends an endless script.
const maxCommands = 20_000

// shell runs a script of user-data on the machine of its LXD. Its files exist only in a
// map, and its commands are those of this package. It does not touch the computer that the
// simulator runs on.
type shell struct {
	lxd *LXD

	mu       sync.Mutex // a command holds it while it runs, because the parts of a pipeline run side by side; not while it waits for another
	commands int
	stderr   bytes.Buffer // standard error
}

// runScript runs a script under a name. If the script fails, its last message is noted as
// a problem.
func (b *LXD) runScript(name, text string, args ...string) {
	b.files[name] = text
	s := &shell{lxd: b}
	if err := s.run(name, text, args, nil, io.Discard); err != nil {
		words := strings.Split(strings.TrimSpace(s.stderr.String()), "\n")
		b.AddProblem("%s failed: %v: %s", path.Base(name), err, words[len(words)-1])
	}
}

func (s *shell) run(name, text string, args []string, stdin io.Reader, stdout io.Writer) error {
	program, err := syntax.NewParser().Parse(strings.NewReader(text), name)
	if err != nil {
		return err
	}
	r, err := interp.New(
		interp.StdIO(stdin, stdout, errorWriter{s}), interp.Dir("/"), interp.Params(append([]string{"--"}, args...)...),
		interp.Env(expand.ListEnviron("PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root")),
		interp.CallHandler(s.call),
		interp.ExecHandlers(func(interp.ExecHandlerFunc) interp.ExecHandlerFunc { return s.exec }),
		interp.OpenHandler(s.open), interp.StatHandler(s.stat),
		interp.ReadDirHandler2(func(context.Context, string) ([]fs.DirEntry, error) { return nil, nil }), // no files are listed, so no pattern matches
	)
	if err != nil {
		return err
	}
	return r.Run(context.Background(), program) // it ends by itself, because it waits for nobody
}

// errorWriter collects standard error.
type errorWriter struct{ s *shell }

// Write keeps the text.
func (w errorWriter) Write(p []byte) (int, error) {
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	return w.s.stderr.Write(p)
}

// findProgramCommand replaces commands with which the shell would look for programs on the
// computer that it runs on.
const findProgramCommand = "simulated command -v"

// call counts commands. It replaces a command that looks for programs by one of this
// package.
func (s *shell) call(_ context.Context, args []string) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.commands++; s.commands > maxCommands {
		return nil, fmt.Errorf("it never ends")
	}
	if len(args) > 2 && args[0] == "command" && (args[1] == "-v" || args[1] == "-V") || len(args) > 1 && args[0] == "type" {
		return []string{findProgramCommand, args[len(args)-1]}, nil
	}
	return args, nil
}

// exec runs a command of this package, one at a time.
func (s *shell) exec(ctx context.Context, args []string) error {
	hc := interp.HandlerCtx(ctx)
	var out bytes.Buffer
	c := &command{shell: s, args: args[1:], in: hc.Stdin, out: &out}
	s.mu.Lock()
	err := c.run(path.Base(args[0]))
	s.mu.Unlock()
	_, _ = hc.Stdout.Write(out.Bytes()) // the reader may have ended
	var status interp.ExitStatus
	if err == nil || errors.As(err, &status) {
		return err
	}
	fmt.Fprintln(hc.Stderr, err)
	return interp.ExitStatus(1)
}

// open opens a file of the machine.
func (s *shell) open(ctx context.Context, name string, flag int, _ os.FileMode) (io.ReadWriteCloser, error) {
	name = absolutePath(ctx, name)
	s.mu.Lock()
	defer s.mu.Unlock()
	text, exists := s.lxd.files[name]
	isDevice := strings.HasPrefix(name, "/dev/")
	if !exists && !isDevice && flag&os.O_CREATE == 0 {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	f := &openFile{shell: s, name: name, content: strings.NewReader(text)}
	if flag&(os.O_WRONLY|os.O_RDWR) != 0 && !isDevice {
		f.writes = true
		if flag&os.O_APPEND != 0 {
			f.written.WriteString(text)
		}
		s.lxd.files[name] = f.written.String()
	}
	return f, nil
}

func absolutePath(ctx context.Context, name string) string {
	if !path.IsAbs(name) {
		name = path.Join(interp.HandlerCtx(ctx).Dir, name)
	}
	return path.Clean(name)
}

// openFile is a file that a script reads or writes.
type openFile struct {
	shell   *shell
	name    string
	content *strings.Reader
	writes  bool
	written bytes.Buffer
}

// Read reads the content from when the file was opened.
func (f *openFile) Read(p []byte) (int, error) { return f.content.Read(p) }

// Write writes at once.
func (f *openFile) Write(p []byte) (int, error) {
	f.shell.mu.Lock()
	defer f.shell.mu.Unlock()
	n, err := f.written.Write(p)
	if f.writes {
		f.shell.lxd.files[f.name] = f.written.String()
	}
	return n, err
}

// Close has nothing to do.
func (f *openFile) Close() error { return nil }

// stat finds files, and treats any folder as existing.
func (s *shell) stat(ctx context.Context, name string, _ bool) (fs.FileInfo, error) {
	name = absolutePath(ctx, name)
	s.mu.Lock()
	defer s.mu.Unlock()
	if text, exists := s.lxd.files[name]; exists {
		return fileInfo{name: name, size: len(text)}, nil
	}
	folders := []string{"/", "/dev", "/etc", "/home", "/root", "/run", "/srv", "/snap", "/snap/bin", "/tmp", "/usr", "/var", "/var/lib"}
	if slices.Contains(folders, name) || s.lxd.hasFolder(name) {
		return fileInfo{name: name, folder: true}, nil
	}
	return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
}

// hasFolder tells whether a file lies below the folder.
func (b *LXD) hasFolder(name string) bool {
	for file := range b.files {
		if strings.HasPrefix(file, name+"/") {
			return true
		}
	}
	return false
}

// fileInfo answers the shell's file tests.
type fileInfo struct {
	name   string
	size   int
	folder bool
}

// Name is the last part of the path.
func (i fileInfo) Name() string { return path.Base(i.name) }

// Size is in bytes.
func (i fileInfo) Size() int64 { return int64(i.size) }

// Mode allows root everything.
func (i fileInfo) Mode() fs.FileMode {
	if i.folder {
		return fs.ModeDir | 0o755
	}
	return 0o755
}

// ModTime is never asked for.
func (i fileInfo) ModTime() time.Time { return time.Time{} }

// IsDir tells whether it is a folder.
func (i fileInfo) IsDir() bool { return i.folder }

// Sys is nil.
func (i fileInfo) Sys() any { return nil }
