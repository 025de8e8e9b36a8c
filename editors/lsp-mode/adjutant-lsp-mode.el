;;; adjutant-lsp-mode.el --- Adjutant through lsp-mode, in Emacs 27 and newer  -*- lexical-binding: t -*-

;; Load this file from init.el, then M-x lsp in a buffer, or let a hook do it.
;; Adjutant runs beside the language server that the buffer has, not in its
;; place.  With eglot, load ../emacs/adjutant.el instead.

(require 'lsp-mode)

(lsp-register-client
 (make-lsp-client :server-id 'adjutant
                  :new-connection (lsp-stdio-connection '("adjutant" "lsp"))
                  :activation-fn (lambda (&rest _) t)
                  ;; A question may have twelve lines, because the minibuffer grows for it (below).
                  :initialization-options '(:asks (:popup_lines 12))
                  :initialized-fn #'adjutant--initialized
                  :add-on? t))

;; lsp-mode waits for the answer to a command of a menu, and loses a request that comes in one piece
;; with that answer: the edit that was just allowed.  So nothing waits for ours.
(defun adjutant--initialized (workspace)
  "Send the commands of WORKSPACE's server, when a menu has one, without waiting."
  (with-lsp-workspace workspace
    (let ((commands (lsp-get (lsp--capability :executeCommandProvider) :commands))
          (handlers (lsp--client-action-handlers (lsp--workspace-client workspace))))
      (seq-doseq (command commands)
        (puthash command
                 (lambda (action) (adjutant--execute command (lsp-get action :arguments)))
                 handlers)))))

;; A question is in the minibuffer with the whole change: let it grow, show the
;; answers below it, and let C-g leave it open for later.  M-x
;; lsp-execute-code-action has the answers then.
(define-advice lsp--window-log-message-request (:around (ask question) adjutant)
  (let ((max-mini-window-height 0.8) (resize-mini-windows t) (completion-show-help nil))
    (minibuffer-with-setup-hook #'minibuffer-completion-help
      (condition-case nil (funcall ask question) (quit nil)))))

(defun adjutant--attend (operation)
  "Let the server see a file that its edit has opened in a buffer nobody looks at.
OPERATION says what edits are for."
  (when (and (eq operation 'server-requested) (not (bound-and-true-p lsp-managed-mode)))
    (with-demoted-errors "Adjutant: %S" (lsp))))
(add-hook 'lsp-after-apply-edits-hook #'adjutant--attend)

(defun adjutant--execute (command arguments)
  "Send COMMAND with ARGUMENTS to Adjutant and do not wait."
  (let ((server (lsp-find-workspace 'adjutant (buffer-file-name))))
    (unless server (user-error "Run M-x lsp in a file of the project first"))
    (with-lsp-workspace server
      (lsp-request-async "workspace/executeCommand"
                         (list :command command :arguments arguments)
                         #'ignore
                         :mode 'detached
                         :error-handler (lambda (error) (message "%s" (lsp:json-error-message error)))))))

(defun adjutant (text)
  "Give Adjutant the task TEXT, with the present file and selection."
  (interactive "sAdjutant: ")
  (let ((from (if (use-region-p) (region-beginning) (point)))
        (to (if (use-region-p) (region-end) (point))))
    (adjutant--execute "adjutant.start"
                       (vector (list :text text
                                     :uri (lsp--buffer-uri)
                                     :range (lsp--region-to-range from to))))))

(defun adjutant-cancel ()
  "Stop what Adjutant does."
  (interactive)
  (adjutant--execute "adjutant.cancel" []))

(provide 'adjutant-lsp-mode)
;;; adjutant-lsp-mode.el ends here
