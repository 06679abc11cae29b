package gomaas

import (
	"testing"

	"github.com/canonical/gomaasclient/client"
	"github.com/canonical/gomaasclient/entity"
	"github.com/canonical/gomaasclient/entity/notification"
)

func TestNotifications(t *testing.T) {
	startClient(t, func(c *client.Client) {
		made := must(c.Notifications.Create(&entity.NotificationParams{Message: "hello", Category: notification.Category("info"), Admins: true, Dismissable: true}))
		wantSame(t, "the message", must(c.Notification.Get(made.ID)).Message, "hello")
		must(c.Notification.Update(made.ID, &entity.NotificationParams{Message: "goodbye", Admins: true, Dismissable: true}))
		wantSame(t, "the message", must(c.Notification.Get(made.ID)).Message, "goodbye")
		message := func(n entity.Notification) string { return n.Message }
		wantContains(t, "the messages", names(must(c.Notifications.Get()), message), "goodbye", true)
		mustSucceed(c.Notification.Dismiss(made.ID))
		wantContains(t, "the messages", names(must(c.Notifications.Get()), message), "goodbye", false)
		mustSucceed(c.Notification.Delete(made.ID))
		_, err := c.Notification.Get(made.ID)
		wantNotFound(t, "notification", err)
	})
}

func TestPackageRepositories(t *testing.T) {
	startClient(t, func(c *client.Client) {
		made := must(c.PackageRepositories.Create(&entity.PackageRepositoryParams{Name: "ppa", URL: "http://archive.example/ubuntu", Arches: "amd64"}))
		wantSame(t, "the name", must(c.PackageRepository.Get(made.ID)).Name, "ppa")
		must(c.PackageRepository.Update(made.ID, &entity.PackageRepositoryParams{Name: "ppa2", URL: "http://archive.example/debian"}))
		wantSame(t, "the URL", must(c.PackageRepository.Get(made.ID)).URL, "http://archive.example/debian")
		name := func(r entity.PackageRepository) string { return r.Name }
		wantContains(t, "the repositories", names(must(c.PackageRepositories.Get()), name), "ppa2", true)
		mustSucceed(c.PackageRepository.Delete(made.ID))
		wantContains(t, "the repositories", names(must(c.PackageRepositories.Get()), name), "ppa2", false)
	})
}

func TestBootSources(t *testing.T) {
	startClient(t, func(c *client.Client) {
		made := must(c.BootSources.Create(&entity.BootSourceParams{URL: "http://images.example/", KeyringFilename: "/keyring.gpg"}))
		wantSame(t, "the URL", must(c.BootSource.Get(made.ID)).URL, "http://images.example/")
		must(c.BootSource.Update(made.ID, &entity.BootSourceParams{URL: "http://mirror.example/", KeyringFilename: "/keyring.gpg"}))
		wantSame(t, "the URL", must(c.BootSource.Get(made.ID)).URL, "http://mirror.example/")
		choice := must(c.BootSourceSelections.Create(made.ID, &entity.BootSourceSelectionParams{
			OS: "ubuntu", Release: "noble", Arches: []string{"amd64"}, Subarches: []string{"*"}, Labels: []string{"*"},
		}))
		wantSame(t, "the release", must(c.BootSourceSelection.Get(made.ID, choice.ID)).Release, "noble")
		must(c.BootSourceSelection.Update(made.ID, choice.ID, &entity.BootSourceSelectionParams{OS: "ubuntu", Release: "jammy", Arches: []string{"amd64"}}))
		wantSame(t, "the release of the only choice", must(c.BootSourceSelections.Get(made.ID))[0].Release, "jammy")
		mustSucceed(c.BootSourceSelection.Delete(made.ID, choice.ID))
		wantSame(t, "the number of choices", len(must(c.BootSourceSelections.Get(made.ID))), 0)
		url := func(s entity.BootSource) string { return s.URL }
		wantContains(t, "the sources", names(must(c.BootSources.Get()), url), "http://mirror.example/", true)
		mustSucceed(c.BootSource.Delete(made.ID))
		wantContains(t, "the sources", names(must(c.BootSources.Get()), url), "http://mirror.example/", false)
	})
}
