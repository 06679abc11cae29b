package ledger

import (
	"database/sql"
	"fmt"
	"io/fs"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/engine"
)

// TestRestoredUnderOpenHandle replaces a file that a process has open by a copy, as cp does.
// Then other processes open the copy, which begins a generation.
func TestRestoredUnderOpenHandle(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason  string
		before  bool // the copy is older than the opening
		copied  int64
		serving map[int64]bool // which inventories are accepted, by sequence
	}{
		"CopyOfThisOpening": {
			reason: "What the copy has is the past of both; what came later is lost.",
			copied: 8, serving: map[int64]bool{7: true, 8: true, 9: false, 10: false},
		},
		"OlderCopy": {
			reason: "The copy knows nothing of this opening.",
			before: true, copied: 0, serving: map[int64]bool{0: false, 7: false, 8: false, 10: false},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "ledger.db")
			backup := path + ".copy"
			if tc.before {
				saveCopy(t, openAt(t, path), backup)
			}
			l := openAt(t, path)
			inventories := map[int64]engine.Tag{}
			for n := int64(0); n <= 10; n++ {
				if n > 0 {
					bindNext(t, l, n)
				}
				tag, err := l.CurrentTag(t.Context())
				if err != nil || tag.Sequence != n {
					t.Fatalf("%+v after %d binds, %v", tag, n, err)
				}
				inventories[n] = tag
				if n == tc.copied && !tc.before {
					saveCopy(t, l, backup)
				}
			}
			restoreCopy(t, l, backup)
			other := openAt(t, path)
			for _, when := range []string{"at once", "when the sequence has caught up"} {
				for sequence, want := range tc.serving {
					if serves, err := l.AcceptsInventory(t.Context(), inventories[sequence]); err != nil || serves != want {
						t.Errorf("%s\nan inventory of %d serves %s: %t, %v, want %t", tc.reason, sequence, when, serves, err, want)
					}
					if serves, err := other.AcceptsInventory(t.Context(), inventories[sequence]); err != nil || serves {
						t.Errorf("an inventory of %d serves one who has just opened the copy: %t, %v", sequence, serves, err)
					}
				}
				for n := tc.copied + 1; n <= 12; n++ {
					bindNext(t, other, n)
				}
			}
			if _, _, err := l.Place(t.Context(), newReservation(t, l, "web-1", 100, 1)); err != nil {
				t.Errorf("A new inventory serves.\ngot %v", err)
			}
		})
	}
}

func bindNext(t *testing.T, l *Ledger, n int64) {
	t.Helper()
	if err := l.Bind(t.Context(), engine.Row{Key: engine.Key(fmt.Sprint("vm-", n)), HostKey: "h1", SystemID: fmt.Sprint("id-", n)}); err != nil {
		t.Fatal(err)
	}
}

func saveCopy(t *testing.T, l *Ledger, path string) {
	t.Helper()
	if err := l.store.exec(t.Context(), `VACUUM INTO ?1`, path); err != nil {
		t.Fatal(err)
	}
}

// restoreCopy replaces the rows of a file by those of a copy. It restores the tag last, because
// triggers change the tag.
func restoreCopy(t *testing.T, l *Ledger, path string) {
	t.Helper()
	if _, err := l.store.DB.ExecContext(t.Context(), `ATTACH ?1 AS saved`, path); err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"reservations", "generations", "tag"} {
		if _, err := l.store.DB.ExecContext(t.Context(), `DELETE FROM main.`+table+`; INSERT INTO main.`+table+` SELECT * FROM saved.`+table); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.store.DB.ExecContext(t.Context(), `DETACH saved`); err != nil {
		t.Fatal(err)
	}
}

// TestGenerationsArePruned: the ledger of a runner that opens it each minute stays small. An
// inventory from before the oldest generation is read again.
func TestGenerationsArePruned(t *testing.T) {
	t.Parallel()
	l := NewMemory(nil)
	defer l.Close()
	begun := time.Now()
	old, err := l.CurrentTag(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	conn, err := l.store.DB.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for minute := range 120 {
		if _, err := beginGeneration(t.Context(), conn, begun.Add(time.Duration(minute)*time.Minute)); err != nil {
			t.Fatal(err)
		}
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	if n := countGenerations(t, l); n != 61 {
		t.Errorf("%d generations after two hours, want those of the last hour", n)
	}
	if serves, err := l.AcceptsInventory(t.Context(), old); err != nil || serves {
		t.Errorf("an inventory of two hours ago serves: %t, %v", serves, err)
	}
	if _, _, err := l.Place(t.Context(), newReservation(t, l, "web-1", 1, 1)); err != nil {
		t.Errorf("A new inventory serves.\ngot %v", err)
	}
}

// TestGenerationsDatedAhead: generations that a wrong clock dated ahead do not stay.
func TestGenerationsDatedAhead(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ledger.db")
	for _, ahead := range []time.Duration{24 * time.Hour, 24 * time.Hour, 0, 0} {
		now := func() time.Time { return time.Now().Add(ahead) }
		l, err := openSQLite(t.Context(), "file:"+path+"?"+pragmas.Encode(), now, func(err error) (error, bool) { return classifySQLiteError(path, err) })
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if n := countGenerations(t, openAt(t, path)); n != 3 {
		t.Errorf("%d generations, want the three that ended by this clock", n)
	}
}

func countGenerations(t *testing.T, l *Ledger) (n int) {
	t.Helper()
	if err := l.store.queryRow(t.Context(), `SELECT count(*) FROM generations`, nil, &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestUpgradeKeepsRows opens a file with the schema from before generations.
func TestUpgradeKeepsRows(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ledger.db")
	fileOfSchema(t, path, 5,
		`INSERT INTO reservations VALUES ('', 'web-1', 'web-1', 'h1', 'az1', 'web', 2, 2048, '{"default":8000000000}', 1, '["h2"]', 'bound', 'abc123', 0, 'T', 7)`,
		`INSERT INTO reservations VALUES ('', 'web-2', 'web-2', 'h1', 'az1', '', 1, 0, '{}', 1, '[]', 'pending', '', 0, 'U', 9223372036854775807)`,
		`UPDATE tag SET generation = 'former', sequence = 7, floor = 3`)
	l := openAt(t, path)
	rows, err := l.Rows(t.Context())
	want := []engine.Row{
		{
			Key: "web-1", Name: "web-1", HostKey: "h1", Zone: "az1", Group: "web", Attempt: 1, Excluded: []string{"h2"}, State: engine.RowBound,
			Need:     engine.Need{Cores: 2, MemoryMiB: 2048, DiskBytes: map[string]int64{"default": 8e9}},
			SystemID: "abc123", Since: time.UnixMilli(0).UTC(), Token: "T",
		},
		{
			Key: "web-2", Name: "web-2", HostKey: "h1", Zone: "az1", Attempt: 1, State: engine.RowPending,
			Need: engine.Need{Cores: 1}, Since: time.UnixMilli(0).UTC(), Token: "U",
		},
	}
	for n := range rows {
		rows[n].Age = 0
	}
	if diff := cmp.Diff(want, rows); diff != "" || err != nil {
		t.Errorf("%v\n-want +got:\n%s", err, diff)
	}
	if serves, err := l.AcceptsInventory(t.Context(), engine.Tag{Generation: "former", Sequence: 7}); err != nil || serves {
		t.Errorf("an inventory from before the upgrade serves: %t, %v", serves, err)
	}
	r := newReservation(t, l, "web-3", 2, 1)
	if _, _, err := l.Place(t.Context(), r); err != nil || r.Inventory.Sequence != 7 {
		t.Errorf("placed by %+v: %v", r.Inventory, err)
	}
}

// fileOfSchema makes a ledger with an older schema.
func fileOfSchema(t *testing.T, path string, schema int, statements ...string) {
	t.Helper()
	files, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	all := []string{`CREATE TABLE schema_version (version INTEGER PRIMARY KEY)`}
	for n, file := range files[:schema] {
		text, err := migrations.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(text), fmt.Sprintf(`INSERT INTO schema_version VALUES (%d)`, n+1))
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, statement := range append(all, statements...) {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
}
