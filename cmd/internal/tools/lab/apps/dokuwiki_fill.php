<?php // dokuwiki_fill.php WIKI ARTICLES: saves each revision of each article through DokuWiki's own functions.
define('DOKU_INC', $argv[1] . '/');
require_once DOKU_INC . 'inc/init.php';
$articles = json_decode(file_get_contents($argv[2]), true);
$id = fn($i) => $i == 0 ? 'start' : cleanID($articles[$i]['category'] . ':' . $articles[$i]['title']);
foreach ($articles as $a) {
    $links = implode(', ', array_map(fn($l) => '[[:' . $id($l) . ']]', $a['links']));
    foreach ($a['revisions'] as $r) {
        $p = $r['paragraphs'];
        $text = "====== {$a['title']} ======\n\n{$a['marker']} " . array_shift($p) . "\n\n===== One =====\n\n" . implode("\n\n", $p) . "\n\nSee also: $links\n";
        $file = wikiFN($id($a['id']));
        saveWikiText($id($a['id']), $text, 'seeded');
        touch($file, strtotime($r['date'])); // the next save puts this version into the attic under its date
        clearstatcache();
    }
    idx_addPage($id($a['id']));
}
