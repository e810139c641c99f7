<?php // wordpress_truth.php SITE ARTICLES HOST: prints the posts and pages by WordPress's database, a JSON object a line.
$_SERVER += ['HTTP_HOST' => $argv[3], 'REQUEST_URI' => '/', 'SERVER_PROTOCOL' => 'HTTP/1.1', 'REMOTE_ADDR' => '127.0.0.1'];
require $argv[1] . '/wp-config.php';
foreach ($wpdb->get_results("SELECT ID, post_content FROM $wpdb->posts WHERE post_status = 'publish' AND post_type IN ('post', 'page') ORDER BY ID") as $p) {
    preg_match('/mark\d{5}x/', $p->post_content, $m);
    echo json_encode(['object' => "post $p->ID", 'names' => ['p' => "$p->ID", 'path' => trim(parse_url(get_permalink($p->ID), PHP_URL_PATH), '/')], 'marker' => $m[0] ?? '']), "\n";
}
