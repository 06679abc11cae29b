package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"
)

// tree is a copy of the module in which mutants are tried, one after the other.
type tree struct {
	temp     string // folder that holds everything
	root     string // root of the copy
	programs string // folder of the built tests
}

// toolsFolder is the folder of built tools. The copy uses the one of the tree.
const toolsFolder = ".tools"

// copyTree copies the tree into a new temporary folder, without built programs.
func copyTree(ctx context.Context, root string) (*tree, error) {
	temp, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		return nil, err
	}
	t := &tree{temp: temp, root: filepath.Join(temp, "tree"), programs: filepath.Join(temp, "programs")}
	if err := t.copyFrom(ctx, root); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot copy %s: %w", root, err), t.remove())
	}
	return t, nil
}

func (t *tree) copyFrom(ctx context.Context, root string) error {
	if err := os.Mkdir(t.programs, 0o700); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(root, toolsFolder)); err == nil {
		if err := os.MkdirAll(t.root, 0o700); err != nil {
			return err
		}
		if err := os.Symlink(filepath.Join(root, toolsFolder), filepath.Join(t.root, toolsFolder)); err != nil {
			return err
		}
	}
	return filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if slices.Contains([]string{".git", toolsFolder, "bin", "dist"}, name) {
			if entry.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		if entry.IsDir() {
			return errors.Join(ctx.Err(), os.MkdirAll(filepath.Join(t.root, name), 0o700))
		}
		return copyFile(filepath.Join(t.root, name), path)
	})
}

// copyFile copies a file with its mode. Of a link it copies the target.
func copyFile(to, from string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, info.Mode().Perm())
}

// remove deletes the copy.
func (t *tree) remove() error { return os.RemoveAll(t.temp) }

// checkPatches checks that each patch applies to the unchanged tree.
func (t *tree) checkPatches(ctx context.Context, mutants []mutant) error {
	var errs []error
	for _, m := range mutants {
		if err := t.apply(ctx, m, "--check"); err != nil {
			errs = append(errs, fmt.Errorf("%s does not apply: %w", m.path, err))
		}
	}
	return errors.Join(errs...)
}

// apply runs git apply with the patch.
func (t *tree) apply(ctx context.Context, m mutant, args ...string) error {
	cmd := exec.CommandContext(ctx, "git", append(append([]string{"apply"}, args...), m.path)...)
	cmd.Dir = t.root
	// In a repository around the copy, git would silently skip all files.
	cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+t.temp)
	return runQuietly(cmd)
}

// checkUnbroken checks that all tests of the mutants pass on the unbroken tree.
// A test that fails there says nothing of a mutant.
func (t *tree) checkUnbroken(ctx context.Context, out io.Writer, mutants []mutant) error {
	var errs []error
	tried, programs := map[test]bool{}, map[string]string{}
	for _, m := range mutants {
		if tried[m.test] {
			continue
		}
		tried[m.test] = true
		if programs[m.test.pkg] == "" {
			program, err := t.build(ctx, m.test.pkg)
			if err != nil {
				return err
			}
			programs[m.test.pkg] = program
		}
		ended, err := t.runTest(ctx, programs[m.test.pkg], m.test)
		if err != nil {
			return err
		}
		if ended.result != resultPassed {
			errs = append(errs, fmt.Errorf("%s: on the unbroken tree, %s %s\n%s", m.name, m.test, ended.result, ended.output))
			continue
		}
		fmt.Fprintf(out, "%5.1f s  %s\n", ended.took.Seconds(), m.test)
	}
	return errors.Join(errs...)
}

// tryMutant applies the patch, runs the test and reverts the patch.
func (t *tree) tryMutant(ctx context.Context, m mutant) (v verdict, err error) {
	if err := t.apply(ctx, m); err != nil {
		return verdict{}, err
	}
	defer func() { err = errors.Join(err, t.apply(context.WithoutCancel(ctx), m, "--reverse")) }()
	began := time.Now()
	program, err := t.build(ctx, m.test.pkg)
	if err != nil {
		return verdict{}, err
	}
	built := time.Since(began)
	ended, err := t.runTest(ctx, program, m.test)
	return verdict{mutant: m, ended: ended, built: built}, err
}

// runQuietly runs a command, and shows its output only if it fails.
func runQuietly(cmd *exec.Cmd) error {
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%w\n%s", err, bytes.TrimSpace(output.Bytes()))
	}
	return nil
}
