<?php // wordpress_fill.php SITE ARTICLES HOST: installs WordPress and saves the articles through its own functions.
$_SERVER += ['HTTP_HOST' => $argv[3], 'REQUEST_URI' => '/', 'SERVER_PROTOCOL' => 'HTTP/1.1', 'REMOTE_ADDR' => '127.0.0.1'];
require $argv[1] . '/wp-includes/version.php';
$db = new mysqli('localhost', 'root', '', '', 0, getcwd() . '/db.sock');
$db->query('CREATE DATABASE wordpress CHARACTER SET utf8mb4');
define('WP_INSTALLING', true);
require $argv[1] . '/wp-config.php';
require_once ABSPATH . 'wp-admin/includes/upgrade.php';
wp_install('Lab', 'admin', 'admin@lab.example', true, '', 'lab-password-1');
update_option('permalink_structure', '/%year%/%monthnum%/%postname%/');
switch_theme('twentytwentyone');
$articles = json_decode(file_get_contents($argv[2]), true);
$post = [];
$categories = [];
wp_defer_term_counting(true);
foreach ($articles as $a) {
    $categories[$a['category']] ??= wp_insert_term($a['category'], 'category')['term_id'];
    $at = gmdate('Y-m-d H:i:s', strtotime($a['date']));
    $p = end($a['revisions'])['paragraphs'];
    $post[$a['id']] = wp_insert_post([
        'post_title' => $a['title'], 'post_status' => 'publish', 'post_author' => 1, 'post_date' => $at, 'post_date_gmt' => $at,
        'post_type' => $a['id'] % 12 == 5 ? 'page' : 'post', 'post_content' => "<p>{$a['marker']} " . implode("</p>\n<p>", $p) . '</p>',
        'post_category' => [$categories[$a['category']]], 'tags_input' => [strtolower($a['category']) . '-' . ($a['id'] % 3), $a['author']],
    ]);
    foreach (array_slice($a['revisions'], 1) as $r) {
        wp_insert_comment(['comment_post_ID' => $post[$a['id']], 'comment_author' => $a['author'], 'comment_content' => end($r['paragraphs']), 'comment_date' => $at, 'comment_approved' => 1]);
    }
}
foreach ($articles as $a) {
    $see = implode(', ', array_map(fn($l) => '<a href="' . get_permalink($post[$l]) . '">' . $articles[$l]['title'] . '</a>', $a['links']));
    wp_update_post(['ID' => $post[$a['id']], 'post_content' => get_post($post[$a['id']])->post_content . "\n<p>See also: $see</p>"]);
}
wp_defer_term_counting(false);
flush_rewrite_rules();
