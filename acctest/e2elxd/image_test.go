package e2elxd

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// ensureImage returns the folder with the image. It builds the image if its
// sources have changed. The packages are as old as the image, so it is built
// again after a month, for their security updates.
func ensureImage() (string, error) {
	key, err := imageKey("image", time.Now())
	if err != nil {
		return "", err
	}
	cache, err := filepath.Abs("../../.tools/e2e-lxd")
	if err != nil {
		return "", err
	}
	folder := filepath.Join(cache, key)
	if _, err := os.Stat(filepath.Join(folder, "rootfs.squashfs")); err == nil {
		return folder, nil
	}
	began := time.Now()
	fmt.Fprintln(os.Stderr, "e2e-lxd: building the hosts' image with mmdebstrap, once")
	cmd := exec.Command("image/build", folder)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("cannot build the image: %w", err)
	}
	fmt.Fprintf(os.Stderr, "e2e-lxd: built the image in %d s\n", int(time.Since(began).Seconds()))
	return folder, removeOtherImages(cache, key)
}

// imageKey names the image by its sources and the month.
func imageKey(folder string, now time.Time) (string, error) {
	sum := sha256.New()
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		fmt.Fprintf(sum, "%s %d\n%s", path, len(text), text)
		return err
	})
	_, _ = io.WriteString(sum, now.UTC().Format("2006-01"))
	return hex.EncodeToString(sum.Sum(nil))[:16], err
}

// removeOtherImages removes images that are not used any more.
func removeOtherImages(cache, key string) error {
	entries, err := os.ReadDir(cache)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if entry.Name() != key {
			if err := os.RemoveAll(filepath.Join(cache, entry.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}
