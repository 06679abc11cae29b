package upkeep

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/view"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world/site"
)

var notificationRoutes = []request.Route{
	{Method: http.MethodGet, Path: "notifications/", Handle: listNotifications},
	{Method: http.MethodPost, Path: "notifications/", Admin: true, Handle: createNotification},
	{Method: http.MethodGet, Path: "notifications/{id}/", Handle: onNotification(readNotification)},
	{Method: http.MethodPut, Path: "notifications/{id}/", Admin: true, Handle: onNotification(updateNotification)},
	{Method: http.MethodDelete, Path: "notifications/{id}/", Admin: true, Handle: onNotification(deleteNotification)},
	{Method: http.MethodPost, Path: "notifications/{id}/", Op: "dismiss", Handle: onNotification(dismissNotification)},
}

func onNotification(f func(*request.Call, *site.Notification) rest.Reply) func(*request.Call) rest.Reply {
	return func(c *request.Call) rest.Reply {
		n, wrong := request.FindByID(c, c.World.Site.Notifications, "Notification")
		if wrong != nil {
			return *wrong
		}
		return f(c, n)
	}
}

func viewNotification(w *world.World, n *site.Notification) rest.Object {
	var user any
	if u := world.UserNamed(w, n.User); u != nil {
		user = view.User(u)
	}
	return rest.Object{
		"id": n.ID, "ident": rest.TextOrNull(n.Ident), "user": user, "users": n.Users, "admins": n.Admins, "message": n.Message,
		"context": n.Context, "category": n.Category, "resource_uri": rest.URI("notifications", n.ID),
	}
}

// isForUser tells whether a user sees a notification. "users" means only users who are not
// administrators (models/notification.py, is_relevant_to).
func isForUser(n *site.Notification, u *world.User) bool {
	return n.User == u.Name || n.Users && !u.Admin || n.Admins && u.Admin
}

func listNotifications(c *request.Call) rest.Reply {
	views := []rest.Object{}
	for _, n := range rest.SortedValues(c.World.Site.Notifications) {
		if isForUser(n, c.User) && !slices.Contains(n.Dismissed, c.User.Name) {
			views = append(views, viewNotification(c.World, n))
		}
	}
	return rest.OKReply(views)
}

var categories = []string{"error", "warning", "success", "info"}

// fillNotification is MAAS's form. An update changes the given fields. It also clears
// check boxes that were not given.
func fillNotification(c *request.Call, n *site.Notification) rest.FormErrors {
	errs := rest.FormErrors{}
	for field, to := range map[string]*string{"ident": &n.Ident, "message": &n.Message, "category": &n.Category} {
		if c.HasField(field) {
			*to = strings.TrimSpace(c.Field(field))
		}
	}
	n.Users, n.Admins = isTicked(c, "users"), isTicked(c, "admins")
	n.Dismissable = !c.HasField("dismissable") || c.Field("dismissable") == "true"
	if c.HasField("user") {
		n.User = ""
		if text := c.Field("user"); text != "" {
			// Simulated users have no id. MAAS numbers them in the order of their
			// creation.
			i := slices.IndexFunc(c.World.Users, func(u *world.User) bool { return u.Name == text })
			if i < 0 {
				errs.Add("user", rest.InvalidChoice)
			} else {
				n.User = text
			}
		}
	}
	readContext(c, n, errs)
	checkNotification(c, n, errs)
	return errs
}

func isTicked(c *request.Call, field string) bool {
	return c.Field(field) != "" && !strings.EqualFold(c.Field(field), "false")
}

func readContext(c *request.Call, n *site.Notification, errs rest.FormErrors) {
	text := strings.TrimSpace(c.Field("context"))
	if text == "" {
		if n.Context == nil {
			n.Context = map[string]any{}
		}
		return
	}
	var value any
	if json.Unmarshal([]byte(text), &value) != nil {
		errs.Add("context", "Enter a valid JSON.")
		return
	}
	object, isObject := value.(map[string]any)
	if !isObject {
		errs.Add("context", "Context is not a mapping.")
		return
	}
	n.Context = object
}

func checkNotification(c *request.Call, n *site.Notification, errs rest.FormErrors) {
	if n.Message == "" {
		errs.Add("message", rest.MsgRequired)
	}
	if n.Category == "" {
		n.Category = "info"
	}
	if !slices.Contains(categories, n.Category) {
		errs.Add("category", rest.ChoiceProblem(n.Category))
	}
	if length := len([]rune(n.Ident)); length > 40 {
		errs.Add("ident", fmt.Sprintf("Ensure this value has at most 40 characters (it has %d).", length))
	}
	for _, other := range c.World.Site.Notifications {
		if n.Ident != "" && other.ID != n.ID && other.Ident == n.Ident {
			errs.Add("ident", "Notification with this Ident already exists.")
		}
	}
}

func createNotification(c *request.Call) rest.Reply {
	n := &site.Notification{}
	if errs := fillNotification(c, n); len(errs) > 0 {
		return rest.BadFormReply(errs)
	}
	n.ID = c.World.NextID("notification")
	c.World.Site.Notifications[n.ID] = n
	return rest.OKReply(viewNotification(c.World, n))
}

func readNotification(c *request.Call, n *site.Notification) rest.Reply {
	if !isForUser(n, c.User) && !c.User.Admin {
		return rest.ForbiddenReply()
	}
	return rest.OKReply(viewNotification(c.World, n))
}

func updateNotification(c *request.Call, n *site.Notification) rest.Reply {
	changed := *n
	if errs := fillNotification(c, &changed); len(errs) > 0 {
		return rest.BadFormReply(errs)
	}
	*n = changed
	return rest.OKReply(viewNotification(c.World, n))
}

func deleteNotification(c *request.Call, n *site.Notification) rest.Reply {
	delete(c.World.Site.Notifications, n.ID)
	return rest.DeletedReply()
}

// dismissNotification may be repeated. It answers null, as a handler of MAAS without a
// result does.
func dismissNotification(c *request.Call, n *site.Notification) rest.Reply {
	switch {
	case !isForUser(n, c.User):
		return rest.ForbiddenReply()
	case !n.Dismissable:
		return rest.BadTextReply("Notification is not dismissable.")
	case !slices.Contains(n.Dismissed, c.User.Name):
		n.Dismissed = append(n.Dismissed, c.User.Name)
	}
	return rest.OKReply(nil)
}
