;;; socket.el --- A socket through which a test controls Emacs  -*- lexical-binding: t -*-

;; Evaluates in the buffer of the file, which `test-buffer' returns.

;; One line of Lisp in, one line of text out.
(defvar test-lines (make-hash-table))
(make-network-process
 :name "test" :server t :family 'local :service (getenv "ADJUTANT_TEST_SOCKET") :noquery t :coding 'utf-8
 :filter (lambda (process text)
           (let ((line (concat (gethash process test-lines) text)))
             (puthash process line test-lines)
             (when (string-suffix-p "\n" line)
               (let ((value (condition-case why
                                (format "%s" (with-current-buffer (test-buffer) (eval (read line) t)))
                              (error (format "failed: %S" why)))))
                 (process-send-string process value)
                 (delete-process process))))))
