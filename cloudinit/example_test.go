package cloudinit_test

import (
	"fmt"
	"log"
	"os"

	"github.com/maaslxd/maaslxd/cloudinit"
)

// A host with its VMs on a disk of their own, and what it is refused for.
func Example() {
	certificate, err := os.ReadFile("testdata/current.crt")
	if err != nil {
		log.Fatal(err)
	}
	host := cloudinit.Host{
		TrustedCertificates: []string{string(certificate)},
		StoragePools: map[string]cloudinit.StoragePool{
			"default": {Driver: cloudinit.ZFS, Source: "/dev/disk/by-id/nvme-eui.0025"},
		},
		Now: testTime,
	}
	userData, err := host.Render()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("user-data:", len(userData) > 0)

	preseed, err := host.Preseed()
	if err != nil {
		log.Fatal(err)
	}
	pool := preseed.Node.StoragePools[0]
	fmt.Println("pool:", pool.Name, pool.Driver, pool.Config["source"])

	host.Profile.Pool = "fast"
	for _, problem := range cloudinit.FieldErrors(host.Validate()) {
		fmt.Println("refused:", problem)
	}
	// Output:
	// user-data: true
	// pool: default zfs /dev/disk/by-id/nvme-eui.0025
	// refused: profile.pool: there is no storage pool "fast"; choose one of default
}

// User-data of another origin beside that of the host.
func ExampleMerge() {
	ours := []byte("#cloud-config\nlxd: {preseed: 'config: {}'}\n")
	theirs := []byte("#cloud-config\nruncmd: [touch /root/done]\n")
	if _, err := cloudinit.Merge(ours, theirs); err != nil {
		log.Fatal(err)
	}
	_, err := cloudinit.Merge(ours, theirs, []byte("#cloud-config\nlxd: {init: {storage_backend: dir}}\n"))
	fmt.Println(err)
	// Output:
	// user-data 2: it has an lxd: section (line 2), which would replace that of the host; remove it; what it sets up belongs to the host's own settings
}
